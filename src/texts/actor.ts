import { personOf } from '../lib/actor.ts'
import type { Translate } from './texts.ts'

/** Who asked, for people; and how they came, unless that was the console. */
export function actorText({ t }: { t: Translate }, actor: string): string {
  const { name, via } = personOf(actor)
  return via === 'api' || via === 'cli' ? t('common.by_person', { name, via: t(`common.via.${via}`) }) : name
}
