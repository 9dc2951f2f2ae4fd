import { screen as access } from './access/routes.ts'
import { account } from './account/routes.ts'
import { screen as alerts } from './alerts/routes.ts'
import { screen as api } from './api/routes.ts'
import { screen as audit } from './audit/routes.ts'
import { bulk } from './bulk/routes.ts'
import { screen as cases } from './cases/routes.ts'
import { screen as departments } from './departments/routes.ts'
import { screen as employees } from './employees/routes.ts'
import type { Endpoint } from './endpoint.ts'
import { screen as halts } from './halts/routes.ts'
import { screen as mapping } from './mapping/routes.ts'
import { screen as mirrors } from './mirrors/routes.ts'
import { screen as money } from './money/routes.ts'
import { screen as overview } from './overview/routes.ts'
import { plan } from './plan/routes.ts'
import { screen as platform } from './platform/routes.ts'
import { screen as runs } from './runs/routes.ts'
import { screen as schedules } from './schedules/routes.ts'
import type { Screen } from './screen.ts'
import { search } from './search/routes.ts'
import type { Services } from './services.ts'
import { screen as settings } from './settings/routes.ts'

/** Every screen of the console, in the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  overview,
  alerts,
  runs,
  cases,
  employees,
  departments,
  platform,
  schedules,
  mapping,
  money,
  mirrors,
  halts,
  audit,
  access,
  settings,
  api,
]

/** What is reached from several screens, or from one of them. */
const WITHIN = [
  search,
  (services: Services): Endpoint[] => Object.values(plan(services)),
  (services: Services): Endpoint[] => Object.values(bulk(services)),
  account,
]

export function endpoints(services: Services): Endpoint[] {
  return [
    ...SCREENS.flatMap(screen => screen.endpoints(services)),
    ...WITHIN.flatMap(within => within(services)),
  ]
}

/** What parts of pages follow: see live.ts. */
export const TOPICS: Readonly<Record<string, string>> = Object.assign(
  {},
  ...SCREENS.map(({ topics }) => topics),
)
