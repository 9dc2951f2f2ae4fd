import { access } from './en/access.ts'
import { alertMessages } from './en/alert-messages.ts'
import { alerts } from './en/alerts.ts'
import { alertsScreen } from './en/alerts-screen.ts'
import { api } from './en/api.ts'
import { audit } from './en/audit.ts'
import { auth } from './en/auth.ts'
import { cases } from './en/cases.ts'
import { channels } from './en/channels.ts'
import { common } from './en/common.ts'
import { departments } from './en/departments.ts'
import { employees } from './en/employees.ts'
import { failures } from './en/failures.ts'
import { halts } from './en/halts.ts'
import { mapping } from './en/mapping.ts'
import { mirrors } from './en/mirrors.ts'
import { money } from './en/money.ts'
import { overview } from './en/overview.ts'
import { plan } from './en/plan.ts'
import { platform } from './en/platform.ts'
import { runs } from './en/runs.ts'
import { schedules } from './en/schedules.ts'
import { search } from './en/search.ts'
import { settings } from './en/settings.ts'
import { setup } from './en/setup.ts'
import { shell } from './en/shell.ts'
import { terms } from './en/terms.ts'
import { workbench } from './en/workbench.ts'
import { access as accessZh } from './zh-CN/access.ts'
import { alertMessages as alertMessagesZh } from './zh-CN/alert-messages.ts'
import { alerts as alertsZh } from './zh-CN/alerts.ts'
import { alertsScreen as alertsScreenZh } from './zh-CN/alerts-screen.ts'
import { api as apiZh } from './zh-CN/api.ts'
import { audit as auditZh } from './zh-CN/audit.ts'
import { auth as authZh } from './zh-CN/auth.ts'
import { cases as casesZh } from './zh-CN/cases.ts'
import { channels as channelsZh } from './zh-CN/channels.ts'
import { common as commonZh } from './zh-CN/common.ts'
import { departments as departmentsZh } from './zh-CN/departments.ts'
import { employees as employeesZh } from './zh-CN/employees.ts'
import { failures as failuresZh } from './zh-CN/failures.ts'
import { halts as haltsZh } from './zh-CN/halts.ts'
import { mapping as mappingZh } from './zh-CN/mapping.ts'
import { mirrors as mirrorsZh } from './zh-CN/mirrors.ts'
import { money as moneyZh } from './zh-CN/money.ts'
import { overview as overviewZh } from './zh-CN/overview.ts'
import { plan as planZh } from './zh-CN/plan.ts'
import { platform as platformZh } from './zh-CN/platform.ts'
import { runs as runsZh } from './zh-CN/runs.ts'
import { schedules as schedulesZh } from './zh-CN/schedules.ts'
import { search as searchZh } from './zh-CN/search.ts'
import { settings as settingsZh } from './zh-CN/settings.ts'
import { setup as setupZh } from './zh-CN/setup.ts'
import { shell as shellZh } from './zh-CN/shell.ts'
import { terms as termsZh } from './zh-CN/terms.ts'
import { workbench as workbenchZh } from './zh-CN/workbench.ts'

/** The sections of the catalogue: each text belongs to one, which has the same keys in every language. */

export const en = together(
  common,
  overview,
  setup,
  runs,
  plan,
  cases,
  employees,
  departments,
  platform,
  schedules,
  mapping,
  money,
  mirrors,
  halts,
  alertsScreen,
  alerts,
  audit,
  search,
  access,
  settings,
  channels,
  auth,
  api,
  terms,
  failures,
  alertMessages,
  shell,
  workbench,
)

export const zhCN = together(
  commonZh,
  overviewZh,
  setupZh,
  runsZh,
  planZh,
  casesZh,
  employeesZh,
  departmentsZh,
  platformZh,
  schedulesZh,
  mappingZh,
  moneyZh,
  mirrorsZh,
  haltsZh,
  alertsScreenZh,
  alertsZh,
  auditZh,
  searchZh,
  accessZh,
  settingsZh,
  channelsZh,
  authZh,
  apiZh,
  termsZh,
  failuresZh,
  alertMessagesZh,
  shellZh,
  workbenchZh,
)

/** Not `{ ...one, ...other }`: for so many keys V8 then makes a shape after each, for a seventh of a command's processor time. */
function together<Sections extends readonly object[]>(...sections: Sections): All<Sections[number]> {
  return Object.assign({}, ...sections)
}

type All<Section> = (Section extends unknown ? (one: Section) => void : never) extends (
  one: infer Every,
) => void
  ? Every
  : never
