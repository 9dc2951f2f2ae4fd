import type { CommandContext } from './context.ts'

/** The enterprise that a command asks about: the one named, else the setting's; none for a single enterprise. */
export function enterpriseOf({ config }: CommandContext, named: string | undefined) {
  const enterprise_code = named ?? config.PLATFORM_ENTERPRISE_CODE
  return enterprise_code === '' ? {} : { enterprise_code }
}
