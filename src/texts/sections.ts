import * as english from './en/index.ts'
import * as chinese from './zh-CN/index.ts'

/** The sections of the catalogue: each text belongs to one, which has the same keys in every language. */

export const en = together(english)

export const zhCN = together(chinese)

/** Not `{ ...one, ...other }`: for so many keys V8 then makes a shape after each, for a seventh of a command's processor time. */
function together<Sections extends object>(sections: Sections): All<Sections[keyof Sections]> {
  return Object.assign({}, ...Object.values(sections))
}

type All<Section> = (Section extends unknown ? (one: Section) => void : never) extends (
  one: infer Every,
) => void
  ? Every
  : never
