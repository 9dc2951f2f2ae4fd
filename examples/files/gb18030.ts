const decoder = new TextDecoder('gb18030')

/** Characters of two bytes, by what Node.js reads of them. */
const PAIRS = new Map<string, [number, number]>()
for (let first = 0x81; first <= 0xfe; first += 1)
  for (let second = 0x40; second <= 0xfe; second += 1)
    if (second !== 0x7f) PAIRS.set(decoder.decode(Uint8Array.of(first, second)), [first, second])

/** A text in GB18030, which Node.js can read and not write: ASCII, characters of GBK, and those beyond U+FFFF. */
export function gb18030(text: string): Buffer {
  return Buffer.from(
    [...text].flatMap(character => {
      const code = character.codePointAt(0) as number
      if (code < 0x80) return [code]
      if (code < 0x10000) return PAIRS.get(character) ?? fail(character)
      // They stand in their order, in four bytes that count with 126, 10, 126 and 10 digits.
      const place = code - 0x10000 + 189_000
      return [
        0x81 + Math.floor(place / 12_600),
        0x30 + (Math.floor(place / 1260) % 10),
        0x81 + (Math.floor(place / 10) % 126),
        0x30 + (place % 10),
      ]
    }),
  )
}

function fail(character: string): never {
  throw new Error(`${character} has no two bytes in GB18030`)
}
