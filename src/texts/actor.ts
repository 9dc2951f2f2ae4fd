import type { Translate } from './texts.ts'

/**
 * Who asked, for people: the name behind the database user, as in `dirsync (console:anna)`, and how they came unless that was
 * the console. Anybody else, such as who came by psql, is shown as recorded.
 */
export function actorText({ t }: { t: Translate }, actor: string): string {
  const [, via, name = ''] =
    /\((console|api|cli):(?:token:)?(.+)\)$/.exec(actor) ??
    /^(console|api|cli):(?:token:)?(.+)$/.exec(actor) ??
    []
  if (via === 'api' || via === 'cli') return t('common.by_person', { name, via: t(`common.via.${via}`) })
  return via ? name : actor
}
