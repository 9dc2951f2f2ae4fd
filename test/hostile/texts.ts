import fc from 'fast-check'

/* Texts as nobody types them. */

/** Characters that programs trip over. */
const TROUBLE = [
  ...['\0', '\u0001', '\b', '\t', '\n', '\v', '\f', '\r', '\u001b', '\u007f', '\u0085'], // controls
  ...['\u00a0', '\u1680', '\u180e', '\u2007', '\u2028', '\u2029', '\u202f', '\u205f', '\u3000'], // blanks
  ...['\u00ad', '\u061c', '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u2060', '\ufeff'], // print nothing
  ...['\u202a', '\u202b', '\u202d', '\u202e', '\u202c', '\u2066', '\u2069'], // directions
  ...['\u0300', 'e\u0301', '\u0e33', 'क्षि', '\ufe0f', '👩‍👩‍👧‍👦', '🇨🇳', '🏽'], // made of several
  ...['İ', 'ı', 'ß', 'ẞ', 'ŉ', 'ǰ', 'ﬁ', 'Ǆ', 'ς', 'K', 'Å'], // change their length or letter with their case
  ...['\ufffd', '\ufffe', '\uffff', '\ue000', '\u{10ffff}', '\u{1f600}', '\u{20000}', '𝟘', '٣', '１'],
  ...[
    "'",
    '"',
    '`',
    '\\',
    '/',
    '%',
    '%00',
    '%zz',
    '&',
    '=',
    '+',
    '?',
    '#',
    ';',
    ',',
    '，',
    '|',
    '<',
    '>',
    '{',
    '}',
    '[',
    ']',
  ],
  ...['$', '$$', '$1', '#{x}', '{{x}}', '#default#', '\\N', '\\.', '\\u0000', '\\ud800', '--', '/*', '*/'],
  ...['＝', '＋', '－', '＠', '@', '王', '甲', 'é', 'a', 'Z', '0', '9', ' ', '-', '.', ':'],
]

/** Half a character, which UTF-8 cannot carry: only where JSON or our own code may make one. */
const HALVES = ['\ud800', '\udbff', '\udc00', '\udfff']

/** Words that mean something to JavaScript, JSON, SQL, the shell, a spreadsheet, a template or a page. */
const WORDS = [
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'null',
    'undefined',
    'NaN',
    'true',
  ],
  ...[
    'Infinity',
    '-0',
    '1e999',
    '0x10',
    '9007199254740993',
    '99999999999999999999',
    '-9223372036854775809',
    '1.',
  ],
  ...[
    "' or 1=1 --",
    "'; drop table staff; --",
    '$(id)',
    '`id`',
    '=1+1',
    '{{7*7}}',
    '<script>alert(1)</script>',
  ],
  ...[
    '../../../etc/passwd',
    '%2e%2e%2f',
    'C:\\con',
    '\\\\server\\share',
    'file:///etc/passwd',
    'javascript:alert(1)',
  ],
  ...['0000-00-00', '2023-02-29', '9999-12-31', '-4713-11-24', 'infinity', '24:00', '2020-01-01 00:00:00+99'],
  ...[
    '#default#',
    '{"a":1}',
    '[[]]',
    '[{"attributeCode":"a","attributeValue":"b"}]',
    '{"__proto__":"x"}',
    '\\ud800',
  ],
]

/** As many as it takes; mostly of a few characters. */
export function text(most: number, withHalves = false): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...TROUBLE, ...(withHalves ? HALVES : [])) },
    { weight: 2, arbitrary: fc.constantFrom(...WORDS) },
    { weight: 1, arbitrary: fc.string({ unit: withHalves ? 'binary' : 'grapheme', maxLength: 8 }) },
  )
  const pieces = fc.array(piece, { maxLength: 12 }).map(all => all.join(''))
  const repeated = (longest: number) =>
    fc
      .tuple(pieces, piece, fc.integer({ min: 0, max: longest }), pieces)
      .map(([head, unit, length, tail]) => `${head}${unit.repeat(length / (unit.length || 1))}${tail}`)
  return fc.oneof(
    { weight: 2000, arbitrary: fc.constantFrom(...WORDS, ...TROUBLE, '') },
    { weight: 3000, arbitrary: pieces },
    { weight: 500, arbitrary: repeated(Math.min(most, 300)) },
    { weight: 20, arbitrary: repeated(Math.min(most, 20_000)) },
    { weight: most > 20_000 ? 1 : 0, arbitrary: repeated(most) },
  )
}

/** Any JSON value, as it is read, in any depth, with the names that are looked for. */
export function jsonValue(names: readonly string[], most = 2000): fc.Arbitrary<unknown> {
  const leaf = fc.oneof(
    text(most, true),
    fc.constantFrom<unknown>(null, true, false, 0, -0, 1, -1, 0.1, 1e300, 2 ** 53, -(2 ** 63), [], {}, ''),
    fc.integer(),
  )
  return fc
    .letrec<{ any: unknown }>(tie => ({
      any: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom(...names, '__proto__', 'constructor', 'length'), tie('any'), {
          maxKeys: 5,
          noNullPrototype: false,
        }),
      ),
    }))
    .any.map(value => JSON.parse(JSON.stringify(value)))
}

const PIECE = fc.oneof(
  text(300, true).map(piece => Buffer.from(piece)),
  fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)),
  fc.nat(5000).map(length => Buffer.alloc(length)),
)

/** What may become of bytes on their way: cut off, overwritten, in another encoding, twice in one. */
export const damages: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc
  .array(
    fc.oneof(
      { weight: 10, arbitrary: fc.constant((bytes: Buffer) => bytes) },
      {
        weight: 6,
        arbitrary: fc
          .tuple(fc.nat(1000), fc.nat(200), PIECE)
          .map(([at, length, piece]) => (bytes: Buffer) => {
            const place = Math.floor((bytes.length * at) / 1000)
            return Buffer.concat([bytes.subarray(0, place), piece, bytes.subarray(place + length)])
          }),
      },
      {
        weight: 2,
        arbitrary: fc
          .nat(1000)
          .map(at => (bytes: Buffer) => bytes.subarray(0, Math.floor((bytes.length * at) / 1000))),
      },
      {
        weight: 2,
        arbitrary: fc
          .constantFrom<[BufferEncoding, string]>(
            ['utf16le', ''],
            ['utf16le', '\ufeff'],
            ['latin1', ''],
            ['utf8', '\ufeff'],
          )
          .map(
            ([encoding, mark]) =>
              (bytes: Buffer) =>
                Buffer.from(mark + bytes.toString(), encoding),
          ),
      },
      { weight: 1, arbitrary: fc.constant((bytes: Buffer) => Buffer.concat([bytes, bytes])) },
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map(all => bytes => all.reduce((before, damage) => damage(before), bytes))

/** The bytes of a file after that. */
export function damaged(whole: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc.tuple(whole, damages).map(([bytes, damage]) => damage(bytes))
}

/** Beyond what a double holds exactly, SQL's int or a price. */
const NUMBERS = ['9007199254740992', '9007199254740993', '9'.repeat(400), '1e3', '1.005', 2 ** 31, 2 ** 53]

/** A JSON value that is another one in some places, or lacks them, or has more. */
export function distorted<Base>(base: Base, names: readonly string[] = []): fc.Arbitrary<unknown> {
  const places = placesOf(base)
  const change = fc.record({
    place: fc.nat(places.length - 1),
    kind: fc.constantFrom('set', 'set', 'set', 'delete', 'add'),
    name: fc.constantFrom('__proto__', 'constructor', 'extra', ...names),
    value: fc.oneof(jsonValue(names), fc.constantFrom(...NUMBERS)),
  })
  return fc.array(change, { maxLength: 3 }).map(changes => {
    const held = { base: structuredClone(base) as unknown }
    for (const { place, kind, name, value } of changes) {
      const path = ['base', ...(places[place] ?? [])]
      const last = kind === 'add' ? name : path.pop()
      const within = path.reduce<unknown>((at, key) => Object(at)[key], held)
      // Another change may have taken it away.
      if (typeof within !== 'object' || within === null || last === undefined) continue
      if (kind === 'delete') Reflect.deleteProperty(within, last)
      else
        Object.defineProperty(within, last, { value, writable: true, enumerable: true, configurable: true })
    }
    return held.base
  })
}

function placesOf(value: unknown, path: string[] = []): string[][] {
  const within = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return [path, ...within.flatMap(([name, member]) => placesOf(member, [...path, name]))]
}
