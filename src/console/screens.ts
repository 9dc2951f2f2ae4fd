import { alerts } from './alerts/routes.ts'
import { me } from './api/routes.ts'
import { audit } from './audit/routes.ts'
import { bulk } from './bulk/routes.ts'
import { cases } from './cases/routes.ts'
import { departments } from './departments/routes.ts'
import { employees } from './employees/routes.ts'
import type { Endpoint } from './endpoint.ts'
import { halts } from './halts/routes.ts'
import { mapping } from './mapping/routes.ts'
import { mirrors } from './mirrors/routes.ts'
import { money } from './money/routes.ts'
import { overview } from './overview/routes.ts'
import { plan } from './plan/routes.ts'
import { platform } from './platform/routes.ts'
import { runs } from './runs/routes.ts'
import { schedules } from './schedules/routes.ts'
import { search } from './search/routes.ts'
import type { Services } from './services.ts'
import { settings } from './settings/routes.ts'

/** Every screen of the console, in the order of the navigation. */
export function endpoints(services: Services): Endpoint[] {
  return [
    ...overview(services),
    ...search(services),
    ...alerts(services),
    ...runs(services),
    ...plan(services),
    ...Object.values(cases(services)),
    ...bulk(services),
    ...employees(services),
    ...departments(services),
    ...platform(services),
    ...schedules(services),
    ...mapping(services),
    ...money(services),
    ...mirrors(services),
    ...halts(services),
    ...audit(services),
    ...settings(services),
    ...me(),
  ]
}
