import { IntlMessageFormat } from 'intl-messageformat'
import { expect, test } from 'vitest'
import { CATALOGUES, FULL_STOP, LANGUAGES } from '../../src/texts/texts.ts'
import { blocksOf, PAGES } from './pages.ts'

type Element = ReturnType<IntlMessageFormat['getAst']>[number]

/** Stands for a value, whatever it is. */
const VALUE = '\0'

/** A text without its values, once for each choice of its plurals. */
function wordings(elements: Element[]): string[] {
  return elements.reduce<string[]>(
    (begun, element) => {
      const next =
        'options' in element
          ? Object.values(element.options).flatMap(({ value }) => wordings(value))
          : [element.type === 0 ? element.value : VALUE]
      return begun.flatMap(begin => next.map(end => begin + end))
    },
    [''],
  )
}

function sentencesIn(text: string): string[] {
  return text.split(/(?<=\.) |(?<=。)/)
}

/** What a block shows as printed, cell by cell, with the lines whole that were wrapped at 80 columns. */
function printedIn(block: string): string[] {
  return block
    .replace(/^(?:\$|\w+[=-][#>]) .*$/gm, '')
    .replace(/(?<=^(.*))\n *(?=(\S+))/gm, (gap, line: string, word: string) =>
      line.length <= 80 && line.length + word.length >= 80 ? ' ' : gap,
    )
    .split(/\n| *\| | {2,}|→ /)
}

test('a sentence that a page shows as printed is one of the catalogue', () => {
  const sentences = LANGUAGES.flatMap(language =>
    Object.values(CATALOGUES[language])
      .flatMap(text =>
        wordings(new IntlMessageFormat(text, language, undefined, { ignoreTag: true }).getAst()),
      )
      .flatMap(sentencesIn)
      // A text without a full stop may be what a sentence ends with.
      .map(text => (/[.。]$/.test(text) ? text : text + FULL_STOP[language])),
  )
  const known = [...new Set(sentences)].map(sentence => ({
    form: new RegExp(`^${sentence.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(VALUE, '.+')}$`),
    // A text that is little more than its values would be found in any sentence.
    longest: 4 * sentence.replaceAll(VALUE, '').length,
  }))
  // What docs/workbench.md shows is printed by a test of its own.
  const shown = PAGES.filter(page => page !== 'docs/workbench.md')
    .flatMap(blocksOf)
    .filter(({ language }) => language === 'console')
    .flatMap(({ page, text }) =>
      printedIn(text)
        .flatMap(sentencesIn)
        .map(sentence => ({ page, sentence })),
    )
    .filter(({ sentence }) => /[.。]$/.test(sentence))
  expect(shown.length).toBeGreaterThan(30)
  expect(
    shown.filter(
      ({ sentence }) => !known.some(({ form, longest }) => sentence.length <= longest && form.test(sentence)),
    ),
  ).toEqual([])
})
