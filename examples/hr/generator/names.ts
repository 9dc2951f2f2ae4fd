import type { Random } from './random.ts'

/** Names are put together from syllables, so that they are fictitious. */
const EASTERN = {
  family: [
    'Bao',
    'Chai',
    'Dui',
    'Fou',
    'Guai',
    'Heng',
    'Jiu',
    'Kuo',
    'Liu',
    'Miu',
    'Nuan',
    'Pou',
    'Rui',
    'Shuo',
  ],
  given: [
    'ai',
    'bei',
    'cuo',
    'dun',
    'fen',
    'gua',
    'hui',
    'ken',
    'lüe',
    'mou',
    'nin',
    'pian',
    'ruo',
    'tiao',
    'zun',
  ],
}
const WESTERN = {
  family: [
    'bral',
    'den',
    'fors',
    'gint',
    'har',
    'kel',
    'lund',
    'mör',
    'nag',
    'quil',
    'ras',
    'tév',
    'vos',
    'wik',
  ],
  given: ['al', 'be', 'ci', 'dó', 'el', 'fa', 'ga', 'ino', 'ka', 'lé', 'mi', 'no', 'ri', 'sa', 'tu', 've'],
}

export interface PersonName {
  family: string
  given: string
  /** True when the family name is written first. */
  familyFirst: boolean
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function personName(random: Random): PersonName {
  if (random.chance(70)) {
    const given = capital(random.pick(EASTERN.given) + random.pick(EASTERN.given))
    return { family: random.pick(EASTERN.family), given, familyFirst: true }
  }
  const stem = capital(random.pick(WESTERN.family) + random.pick(WESTERN.family))
  const family = random.chance(10) ? `O'${stem}` : stem
  return {
    family,
    given: capital(random.pick(WESTERN.given) + random.pick(WESTERN.given)),
    familyFirst: false,
  }
}

export function writtenName(name: PersonName): string {
  return name.familyFirst ? `${name.family} ${name.given}` : `${name.given} ${name.family}`
}

/** The part of an e-mail address before the @: plain letters, made unique by the number. */
export function mailName(name: PersonName, number: number): string {
  const plain = `${name.given}.${name.family}`.normalize('NFD').replace(/[^A-Za-z.]/g, '')
  return `${plain.toLowerCase()}.${number}`
}
