/** Of the package; a test holds it against package.json, which lies elsewhere in the package than in the sources. */
export const VERSION = "0.1.0";
