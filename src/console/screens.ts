import { me } from './api/routes.ts'
import { audit } from './audit/routes.ts'
import { bulk } from './bulk/routes.ts'
import { cases } from './cases/routes.ts'
import type { Endpoint } from './endpoint.ts'
import { mirrors } from './mirrors/routes.ts'
import { money } from './money/routes.ts'
import { overview } from './overview/routes.ts'
import type { Services } from './services.ts'

/** Every screen of the console, in the order of the navigation. */
export function endpoints(services: Services): Endpoint[] {
  return [
    ...overview(services),
    ...cases(services),
    ...bulk(services),
    ...money(services),
    ...mirrors(services),
    ...audit(services),
    ...me(),
  ]
}
