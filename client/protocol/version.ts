/** What every request says it was written in. */
export const LANGUAGE = "NODE_JS";
/** What every request says it speaks: 5.5.0, as an ordinal of `MQVersion`. */
export const VERSION = 513;

/** Language names in the order of their numbers in a binary header (`LanguageCode`). */
export const LANGUAGES: readonly string[] = [
  "JAVA",
  "CPP",
  "DOTNET",
  "PYTHON",
  "DELPHI",
  "ERLANG",
  "RUBY",
  "OTHER",
  "HTTP",
  "GO",
  "PHP",
  "OMS",
  "RUST",
  "NODE_JS",
];

/** From this version on a name server answers routes in standard JSON (V4_9_4). */
export const VERSION_STANDARD_JSON = 401;
/** From this version on a server that shuts down answers GO_AWAY (above V5_1_4). */
export const VERSION_GO_AWAY = 441;
