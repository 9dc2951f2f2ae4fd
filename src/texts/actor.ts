import { personOf } from '../lib/actor.ts'
import type { Said } from './message.ts'
import type { Translate } from './texts.ts'

/** What a halt says, with the person who paused all calls as people call them. */
export function withActor(asked: { t: Translate }, what: Said): Said {
  if (!('key' in what) || what.key !== 'said.paused_by') return what
  const { values } = what
  return { ...what, values: { ...values, name: actorText(asked, String(values?.name)) } }
}

/** Who asked, for people; and how they came, unless that was the console. */
export function actorText({ t }: { t: Translate }, actor: string): string {
  const { name, via } = personOf(actor)
  return via === 'api' || via === 'cli' ? t('common.by_person', { name, via: t(`common.via.${via}`) }) : name
}
