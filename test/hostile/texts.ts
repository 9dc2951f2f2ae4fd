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

/** Any JSON value, in any depth, with the names that are looked for. */
export function jsonValue(names: readonly string[], most = 2000): fc.Arbitrary<unknown> {
  const leaf = fc.oneof(
    text(most, true),
    fc.constantFrom<unknown>(null, true, false, 0, -0, 1, -1, 0.1, 1e300, 2 ** 53, -(2 ** 63), [], {}, ''),
    fc.integer(),
  )
  return fc.letrec<{ any: unknown }>(tie => ({
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('any'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom(...names, '__proto__', 'constructor', 'length'), tie('any'), {
        maxKeys: 5,
        noNullPrototype: false,
      }),
    ),
  })).any
}

/** The bytes of a file after what may become of it on its way: cut off, overwritten, in another encoding, twice in one. */
export function damaged(whole: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    text(300, true).map(piece => Buffer.from(piece)),
    fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)),
    fc.nat(5000).map(length => Buffer.alloc(length)),
  )
  const damage = fc.oneof(
    { weight: 10, arbitrary: fc.constant((bytes: Buffer) => bytes) },
    {
      weight: 6,
      arbitrary: fc.tuple(fc.nat(1000), fc.nat(200), piece).map(([at, length, piece]) => (bytes: Buffer) => {
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
  )
  return fc
    .tuple(whole, fc.array(damage, { minLength: 1, maxLength: 3 }))
    .map(([bytes, damages]) => damages.reduce((before, damage) => damage(before), bytes))
}
