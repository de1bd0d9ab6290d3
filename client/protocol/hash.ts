/** Java's `String.hashCode`: a signed 32-bit number over UTF-16 units. Brokers filter tags by it. */
export function javaHashCode(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}
