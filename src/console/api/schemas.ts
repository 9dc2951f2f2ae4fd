import { z } from 'zod'
import { TestAnswer } from '../../alerts/courier.ts'
import { Alert, AlertHistory, AlertsReport } from '../../alerts/report.ts'
import { CheckResult } from '../../doctor/finding.ts'
import { TimeLeft } from '../../sync/health/time-left.ts'
import { ProviderResult, SessionList, TokenList, UserList } from '../access/query.ts'
import { AccountResult } from '../account/query.ts'
import { RuleResult } from '../alerts/query.ts'
import { CommandRow } from '../audit/entries.ts'
import { AuditList } from '../audit/query.ts'
import { SessionRow } from '../auth/sessions.ts'
import { TokenRow } from '../auth/tokens.ts'
import { UserRow } from '../auth/users.ts'
import { BulkPage } from '../bulk/query.ts'
import { BulkResult, BulkRow } from '../bulk/read.ts'
import { DeadLetter, DeadLetterEvent } from '../cases/dead-letter.ts'
import { CaseGroups, CaseList } from '../cases/query.ts'
import { CaseGroup, CaseStory } from '../cases/read.ts'
import { CaseView } from '../cases/views.ts'
import { DeletionsResult, DepartmentsResult } from '../departments/query.ts'
import { Department, DepartmentStep } from '../departments/read.ts'
import { ListedEmployee } from '../employees/list.ts'
import { EmployeeResult, EmployeesResult } from '../employees/query.ts'
import { Attempt, EmployeeStory } from '../employees/story.ts'
import { HaltReport, HaltsResult, Process } from '../halts/query.ts'
import { DryRunEntity, DryRunLine } from '../mapping/dry-runs.ts'
import { DryRunResult, DryRunsResult, TriedResult } from '../mapping/query.ts'
import { MappingResult } from '../mapping/read.ts'
import { Accounts, MirrorStatuses, Orders, Taxpayers } from '../mirrors/query.ts'
import { LimitAccountRow, PaymentOrderRow, TaxpayerRow } from '../mirrors/read.ts'
import { MoneyList, RefundDetails, TopUpDetails } from '../money/query.ts'
import { HistoryResult, OverviewResult } from '../overview/query.ts'
import { SetupResult } from '../overview/setup.ts'
import { HeldBack } from '../plan/held-back.ts'
import { PlanResult } from '../plan/query.ts'
import { DecidedPlan, GivenPart } from '../plan/routes.ts'
import { PlanDecision, PlanDepartment, PlanItem, PlanMove, PlanOverview } from '../plan/stored.ts'
import { PlatformResult } from '../platform/query.ts'
import { TokenState } from '../platform/token-state.ts'
import { ProblemDocument } from '../problem.ts'
import { ListedRun } from '../runs/list.ts'
import { RunDetails, RunsResult, StartedRuns, StartPageResult } from '../runs/query.ts'
import { GateView, RunCase, RunCommand, RunFigures } from '../runs/story.ts'
import { Schedule, SchedulesResult, Tick } from '../schedules/query.ts'
import { SearchResult } from '../search/read.ts'
import { DoctorResult, SettingsResult } from '../settings/query.ts'

/** The names of schemas in the API's description; the others are written where they are used. */
const NAMES: Readonly<Record<string, z.ZodType>> = {
  Problem: ProblemDocument,
  // Cases
  Case: DeadLetter,
  CaseDetails: CaseStory,
  CaseEvent: DeadLetterEvent,
  ChangedField: DeadLetter.shape.changed_fields.element,
  CaseLine: CaseStory.shape.others.element,
  CasePage: CaseList,
  CaseGroup,
  CaseGroups,
  CaseView,
  BulkAction: BulkRow,
  BulkItem: BulkResult,
  BulkPage,
  // Runs
  Run: ListedRun,
  RunDetails,
  RunPage: RunsResult,
  RunCase,
  RunCommand,
  RunFigures,
  RunStart: StartPageResult,
  StartedRuns,
  TimeLeft,
  MirrorRows: ListedRun.shape.rows.unwrap(),
  SanityGate: GateView,
  Plan: PlanResult,
  DecidedPlan,
  PlanFigures: PlanOverview.shape.figures.unwrap(),
  PlanItem,
  PlanDepartment,
  PlanMove,
  PlanDecision,
  PlanHeldBack: HeldBack,
  PlanPart: GivenPart,
  // Employees and departments
  Employee: ListedEmployee,
  EmployeeDetails: EmployeeResult,
  EmployeePage: EmployeesResult,
  EmployeeField: EmployeeResult.shape.fields.element,
  EmployeeFault: EmployeeResult.shape.problems.element,
  EmployeeStep: EmployeeResult.shape.steps.element,
  EmployeeRun: EmployeeResult.shape.run.unwrap(),
  EmployeeRecord: EmployeeStory.shape.record.unwrap(),
  EmployeeCase: EmployeeStory.shape.dead_letters.element,
  EmployeeOrder: EmployeeStory.shape.payment_orders.element,
  PendingWork: EmployeeStory.shape.pending.element,
  OpenId: EmployeeStory.shape.bindings.element,
  Attempt,
  Department,
  DepartmentStep,
  DepartmentPage: DepartmentsResult,
  Deletions: DeletionsResult,
  // The platform and what belongs to it
  Platform: PlatformResult,
  TokenState,
  Halt: HaltReport,
  Halts: HaltsResult,
  Process,
  Schedule,
  Schedules: SchedulesResult,
  Tick,
  // The mapping
  Mapping: MappingResult,
  TriedMapping: TriedResult,
  DryRun: DryRunLine,
  DryRunDetails: DryRunResult,
  DryRunPage: DryRunsResult,
  DryRunEmployee: DryRunEntity,
  // Money and mirrors
  MoneyPage: MoneyList,
  Refund: RefundDetails,
  TopUp: TopUpDetails,
  MoneyCounts: MoneyList.shape.counts.shape.refunds,
  MoneyOutlook: RefundDetails.shape.outlook.unwrap(),
  MoneyEvent: RefundDetails.shape.events.element,
  Mirrors: MirrorStatuses,
  MirrorRun: MirrorStatuses.shape.items.element.shape.last.unwrap(),
  PaymentOrder: PaymentOrderRow,
  PaymentOrderPage: Orders,
  LimitAccount: LimitAccountRow,
  LimitAccountPage: Accounts,
  Taxpayer: TaxpayerRow,
  TaxpayerPage: Taxpayers,
  // Alerts, and what there is besides
  Alert,
  Alerts: AlertsReport,
  AlertPage: AlertHistory,
  EndedAlert: AlertHistory.shape.items.element,
  AlertTold: Alert.shape.told.element,
  AlertKeptBack: Alert.shape.kept_back.unwrap(),
  AlertMute: AlertsReport.shape.rules.element.shape.mutes.element,
  AlertRule: RuleResult,
  AlertSetting: RuleResult.shape.settings.element,
  TestMessage: TestAnswer,
  Overview: OverviewResult,
  History: HistoryResult,
  Setup: SetupResult,
  SetupStep: SetupResult.shape.steps.element,
  Found: SearchResult,
  Command: CommandRow,
  CommandPage: AuditList,
  User: UserRow,
  UserPage: UserList,
  Token: TokenRow,
  TokenPage: TokenList,
  Session: SessionRow,
  SessionPage: SessionList,
  IdentityProvider: ProviderResult,
  Account: AccountResult,
  Settings: SettingsResult,
  Doctor: DoctorResult,
  Finding: CheckResult,
  Examination: DoctorResult.shape.examination.unwrap(),
}

export function nameSchemas(): void {
  for (const [id, schema] of Object.entries(NAMES))
    z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id })
}
