import { alertMessages } from './alert-messages.ts'
import { alerts } from './alerts.ts'
import { alertsScreen } from './alerts-screen.ts'
import { api } from './api.ts'
import { audit } from './audit.ts'
import { auth } from './auth.ts'
import { cases } from './cases.ts'
import { channels } from './channels.ts'
import { common } from './common.ts'
import { departments } from './departments.ts'
import { employees } from './employees.ts'
import { failures } from './failures.ts'
import { halts } from './halts.ts'
import { mapping } from './mapping.ts'
import { mirrors } from './mirrors.ts'
import { money } from './money.ts'
import { overview } from './overview.ts'
import { plan } from './plan.ts'
import { platform } from './platform.ts'
import { runs } from './runs.ts'
import { schedules } from './schedules.ts'
import { search } from './search.ts'
import { settings } from './settings.ts'
import { shell } from './shell.ts'
import { terms } from './terms.ts'
import { workbench } from './workbench.ts'

export const en = {
  ...common,
  ...overview,
  ...runs,
  ...plan,
  ...cases,
  ...employees,
  ...departments,
  ...platform,
  ...schedules,
  ...mapping,
  ...money,
  ...mirrors,
  ...halts,
  ...alertsScreen,
  ...alerts,
  ...audit,
  ...search,
  ...settings,
  ...channels,
  ...auth,
  ...api,
  ...terms,
  ...failures,
  ...alertMessages,
  ...shell,
  ...workbench,
} as const
