/**
 * What the rules of alerts say (src/alerts/rules/). Of each rule: a title of a few words, what is wrong with its figures, what
 * to do, and that it is over. Then the runbook: short steps, one per line.
 */
export const alerts = {
  'alert.halt.title': '{place}',
  'alert.halt.what': '{message} Nothing is sent meanwhile; waiting work is kept.',
  'alert.halt.remedy': '{remedy}',
  'alert.halt.over': '{continues}',
  'alert.paused.title': 'All calls are paused',
  'alert.paused.what': '{message} Nothing is sent until someone resumes them.',
  'alert.paused.remedy':
    'Resume them in the console or with `dirsync resume`, or ask the person who paused them.',
  'alert.paused.over': 'The calls were resumed.',
  'alert.held_run.title': 'Run {run} ({kind}) is waiting for a decision',
  'alert.held_run.what':
    '{planned, plural, one {# entry of its plan is} other {# entries of its plan are}} not sent before a person decides.',
  'alert.held_run.remedy':
    'Look at its plan in the console or with `dirsync plan {run}`, then `dirsync approve {run}` or `dirsync reject {run} --reason R`.',
  'alert.held_run.over':
    'It was decided, a later run took its place, or its HR source or platform account was taken away.',
  'alert.source_suspect.title': 'HR’s data looks wrong ({kind})',
  'alert.source_suspect.what': 'Run {run}: {message}',
  'alert.source_suspect.remedy':
    'Run the mapping’s query in HR, and fix what is wrong in HR or in the mapping. The next run then passes; `dirsync resync` starts one now.',
  'alert.source_suspect.over':
    'In a later run HR’s data looked right, or the source is no longer configured or has other enterprises.',
  'alert.run_overdue.title': 'No good run for too long ({kind})',
  'alert.run_overdue.what':
    '{lasted, select, never {No run of this kind has ended well yet} other {The last one that ended well was {age} ago}}; its schedule has one every {interval}.{error, select, none {} other { The latest failed: {error}}}',
  'alert.run_overdue.remedy':
    'Use `dirsync runs` to see how the latest ones ended, and `dirsync status` to see whether work is halted.',
  'alert.run_overdue.over':
    'No run is overdue now: one has ended well, a person decided about it or cancelled it, its schedule was changed, paused or switched off, a halt or a pause holds it back, a scheduler has just come back, or HR’s sources were changed.',
  'alert.files_overdue.title': 'HR’s files no longer come{source, select, none {} other { ({source})}}',
  'alert.files_overdue.what':
    'Runs still read the same delivery, and it looks right. What has changed in HR since then does not reach the platform.',
  'alert.files_overdue.remedy':
    'Look at the job that delivers the files; `dirsync doctor` names those that are read. If they rightly come so rarely, raise ALERT_FILES_OVERDUE.',
  'alert.files_overdue.over': 'A new delivery was read, or HR is no longer one of files.',
  'alert.schedule_paused.title': 'A schedule is still paused: {subject}',
  'alert.schedule_paused.what': '{by} has paused the job {subject}, so it does not run. Reason: {reason}',
  'alert.schedule_paused.remedy':
    "Resume it on the console’s screen Schedules, or with `select dirsync.resume_schedule(''{subject}'')`.",
  'alert.schedule_paused.over': 'It was resumed or switched off.',
  'alert.job_failing.title': 'A job keeps failing: {subject}',
  'alert.job_failing.what':
    '{subject} has not succeeded since its first failure.{error, select, none {} other { The last error: {error}}}',
  'alert.job_failing.remedy':
    'The console’s screens Schedules and Runs show how it ended each time. Fix what the error names, then run it again there.',
  'alert.job_failing.over': 'It has succeeded, or no longer runs.',
  'alert.cases_jump.title': 'Many new cases: {category}',
  'alert.cases_jump.what':
    '{rise, plural, one {# case was} other {# cases were}} opened within an hour; {count, number} of this category are open.',
  'alert.cases_jump.remedy':
    'Open the cases of this category in the console. So many at once mostly have one cause: fix it, then retry them together.',
  'alert.cases_jump.over': 'Their number has stopped rising; the last count was {count, number}.',
  'alert.out_of_sync.title': 'Only {share} of the employees are in sync',
  'alert.out_of_sync.what':
    'The platform has confirmed {in_sync, number} of {in_scope, number} employees as HR has them. Employees whose change is waiting for a decision, was rejected or was accepted as different are not counted, nor those without an HR source.',
  'alert.out_of_sync.remedy':
    'See on the overview what the others are waiting for: open cases, activation on the platform, or sending.',
  'alert.out_of_sync.over':
    'Of the employees who are counted enough are in sync now: they were confirmed, or others are no longer counted. Or somebody has paused all calls, which keeps the rest out of sync.',
  'alert.work_stuck.title': 'Work is not getting done',
  'alert.work_stuck.what':
    '{operation}: the oldest of {count, plural, one {# entry} other {# entries}} has been waiting {age} longer than needed, although nothing is halted.{cause, select, put_off { Workers take it again and again, and put it off.} not_queued { The scheduler has given none of it to the workers.} not_taken { No worker takes any work: {idle, select, never {none has started a job} other {the last job started {idle} ago}}.} others_first { Workers are doing other work meanwhile.} other {}}',
  'alert.work_stuck.remedy':
    '{cause, select, put_off {Its attempts say what it waits for: open its run, which `dirsync runs` shows as running.} not_queued {What HR changed since its plan waits for the next run: use `dirsync runs` to see how the latest ones ended. If they end well, restart the scheduler; nothing is lost by that.} not_taken {Run `dirsync doctor`, and `dirsync status`, which says whether the queue itself is paused; then restart the workers; nothing is lost by that.} other {Run `dirsync doctor`, then restart the workers; nothing is lost by that.}}',
  'alert.work_stuck.over':
    'Nothing is overdue now: the work was done or cancelled, a halt or a pause holds it back, or the workers have just started.',
  'alert.money_unknown.title':
    '{subject, select, refund {Refunds whose outcome is unknown} other {Top-ups whose outcome is unknown}}',
  'alert.money_unknown.what':
    '{subject, select, refund {{count, plural, one {# refund was} other {# refunds were}}} other {{count, plural, one {# top-up was} other {# top-ups were}}}} sent and may have been carried out; {for_person, plural, =0 {none is waiting for a decision yet} one {# is waiting for a decision} other {# are waiting for a decision}}.',
  'alert.money_unknown.remedy':
    'Do not send them again. The console’s screen Money says for each how to find out the outcome and record it.',
  'alert.money_unknown.over':
    '{subject, select, refund {No refund has an unknown outcome any more.} other {No top-up has an unknown outcome any more.}}',
  'alert.calls_rejected.title': 'The platform rejects {share} of the calls',
  'alert.calls_rejected.what':
    'Within 15 minutes it rejected {rejected, number} of {calls, number} calls because there were too many. dirsync repeats them, but this slows it down.',
  'alert.calls_rejected.remedy':
    'Find out which other system uses this application id, or set PLATFORM_RATE_LIMIT lower, or to auto.',
  'alert.calls_rejected.over': 'Within the last 15 minutes few calls or none were rejected.',
  'alert.role_missing.title': 'No {role} is running',
  'alert.role_missing.what':
    '{subject, select, worker {Nothing is sent to the platform.} other {HR is not read, and no run starts.}} Waiting work is kept.',
  'alert.role_missing.remedy':
    'Start one with `dirsync start --roles {subject}`; the log of the last one says why it ended.',
  'alert.role_missing.over': 'One is running again.',
  'alert.process_lost.title': 'A process is gone or frozen: {subject}',
  'alert.process_lost.what':
    'It shows no sign of life, did not shut down in order, and no other process has taken its place. Its roles: {roles}.',
  'alert.process_lost.remedy':
    'Look at its log and its machine, then start it again. If its container is unhealthy, restart it: Docker does not do that by itself.',
  'alert.process_lost.over': 'It is alive again, another one has taken its place, or a day has passed.',
  'alert.money_contradicted.title':
    '{subject, select, refund {{how, select, perhaps {A refund may have been carried out after all} refused {A refund recorded as carried out was refused} other {Refunds recorded as not carried out were carried out}}} other {{how, select, refused {A top-up recorded as carried out was refused} other {Top-ups recorded as not carried out were carried out}}}}',
  'alert.money_contradicted.what':
    '{subject, select, refund {{how, select, perhaps {Within seven days {count, plural, one {# refund} other {# refunds}} that had been recorded as not carried out turned out to be carried out, or perhaps; the latest is {latest}: of its order {of} more is shown refunded than dirsync’s other refunds make. Unless others have refunded the order, {latest} was carried out. If another one was sent instead, the order is refunded twice.} refused {Within seven days the recorded outcome of {count, plural, one {# refund} other {# refunds}} turned out to be wrong; the latest is {latest} of order {of}: it had been recorded as carried out, and the platform refused it, so its money has not moved.} other {Within seven days {count, plural, one {# refund} other {# refunds}} that had been recorded as not carried out turned out to be carried out; the latest is {latest} of order {of}. If another one was sent instead, the order is refunded twice.}}} other {{how, select, refused {Within seven days the recorded outcome of {count, plural, one {# top-up} other {# top-ups}} turned out to be wrong; the latest is {latest} of account {of}: it had been recorded as carried out, and the platform refused it, so its money has not moved.} other {Within seven days {count, plural, one {# top-up} other {# top-ups}} that had been recorded as not carried out turned out to be carried out; the latest is {latest} of account {of}. If another one was sent instead, the account is topped up twice.}}}}',
  'alert.money_contradicted.remedy':
    '{how, select, refused {Send it again if it is still wanted, and tell whoever was told that it was carried out.} other {{subject, select, refund {Check order {of} for a second refund: the console’s screen Money lists what was sent.} other {Check account {of} for a second top-up: the console’s screen Money lists what was sent.}}}}',
  'alert.money_contradicted.over': 'Fewer than the figure within the last seven days.',
  'alert.notification_misfit.title': 'Refund notifications that match no refund',
  'alert.notification_misfit.what':
    'Within a day the platform notified dirsync of {count, plural, one {# refund} other {# refunds}} that it never sent, or sent with another order or amount; the latest is {latest}.',
  'alert.notification_misfit.remedy':
    'Look the number up on the platform: another system may be sending refunds for this application, or amounts differ.',
  'alert.notification_misfit.over': 'Fewer have come within the last day, or they match a refund by now.',
  'alert.clock.title': 'A clock is wrong',
  'alert.clock.what':
    'A worker’s clock differs from the platform’s by {seconds}. dirsync corrects for it in its calls, but from 5 minutes on a receiver on that machine refuses the platform’s notifications.',
  'alert.clock.remedy': 'Set the machine’s clock (NTP); `dirsync doctor` shows the difference.',
  'alert.clock.over': 'The clock of no running process is known to be wrong.',
  'alert.tokens.title': 'Too many access tokens are created',
  'alert.tokens.what':
    '{count, number} within the last hour, although one lasts for hours. From 50 on dirsync waits, because the platform permits 60.',
  'alert.tokens.remedy':
    'Find out which other system uses this application id: each token that it creates invalidates ours.',
  'alert.tokens.over': 'Fewer were created within the last hour.',
  'alert.queue_away.title':
    '{process, select, none {The queue does not answer, or refuses writes} other {A process does not reach the queue: {process}}}',
  'alert.queue_away.what':
    '{process, select, none {Work is planned but does not reach the workers. It is kept, and nothing is lost.} other {The queue does not answer it, or refuses its writes. Its share of the work is left to the processes that reach the queue.}}{error, select, none {} other { The last error: {error}}}',
  'alert.queue_away.remedy':
    'Start Redis, restore the connection to it, or give it more memory or disk; `dirsync doctor` says what fails.',
  'alert.queue_away.over':
    '{process, select, none {It is no longer out of reach of all running workers, or of all schedulers. {continues}} other {It reaches the queue again or has ended, or no worker, or no scheduler, reaches it any more.}}',
  'alert.hr_sources_differ.title': 'Processes have different HR sources',
  'alert.hr_sources_differ.what':
    '{count, plural, one {A process does} other {# processes do}} nothing for the HR sources that differ from those of the process started last: {processes}.',
  'alert.hr_sources_differ.remedy': 'Give all processes the same HR_SOURCES, and restart those named here.',
  'alert.hr_sources_differ.over': 'All processes have the same HR sources.',
  'alert.process_aside.title': 'A process leaves all work to others',
  'alert.process_aside.what':
    '{reason, select, secret {The platform refuses the application secret of process {subject}, and others work with another one.} other {Process {subject} cannot reach the platform, and others work.}} Nothing is halted: the others do its work.',
  'alert.process_aside.remedy':
    '{reason, select, secret {Give all processes the same PLATFORM_APP_SECRET and PLATFORM_SIGN_ALGORITHM, and restart this one.} other {Check the network of its host, a firewall, or the platform’s list of permitted addresses. It works again by itself once the platform answers.}}',
  'alert.process_aside.over': 'It works again, or has ended.',
  'alert.database_full.title':
    '{subject, select, size {dirsync’s database is nearly full} other {dirsync’s database is running out of connections}}',
  'alert.database_full.what':
    '{subject, select, size {It has {used} of {limit} ({percent})} other {{used} of {limit} connections are in use ({percent})}}.',
  'alert.database_full.remedy':
    '{subject, select, size {Give it more room and raise ALERT_DATABASE_GB, or find out what is growing.} other {Find out what holds them (`pg_stat_activity`), or raise max_connections.}}',
  'alert.database_full.over': 'There is room again.',
  'alert.database_slow.title': 'dirsync’s database is slow',
  'alert.database_slow.what': 'Reading a handful of figures took {milliseconds, number} ms.',
  'alert.database_slow.remedy':
    'Check the server’s load, disks and locks; `pg_stat_activity` shows what is running.',
  'alert.database_slow.over': 'It answers quickly again.',
  'alert.database_away.title': 'dirsync’s database does not answer, or not as it should',
  'alert.database_away.what':
    'The process that last checked the rules cannot use it. Unless others can, nothing is read from HR and nothing is sent until it answers; nothing is lost.{error, select, none {} other { The last error: {error}}}',
  'alert.database_away.remedy':
    'Start the server or restore the connection to it; `dirsync doctor` says what fails.',
  'alert.database_away.over': 'It answers again. Work continues by itself unless it is paused or halted.',
  'alert.dead_channel.title': 'Alerts are not delivered: {subject}',
  'alert.dead_channel.what':
    'The channel {subject} does not accept messages, or not for all recipients{answer, select, none {} other {: {answer}}}.',
  'alert.dead_channel.remedy':
    'Check its settings, then try it with `dirsync alerts test --channel {subject}`.',
  'alert.dead_channel.over':
    'Its messages reach all of its recipients again, none waits, or the channel is no longer configured.',
  'alert.heartbeat_failing.title': 'The heartbeat is not delivered',
  'alert.heartbeat_failing.what':
    'The monitor at HEARTBEAT_URL does not accept the call after a good run{answer, select, none {} other {: {answer}}}.',
  'alert.heartbeat_failing.remedy':
    'Check HEARTBEAT_URL and the connection to the monitor. Until then it raises its own alarm, although dirsync works.',
  'alert.heartbeat_failing.over': 'The monitor accepts calls again, or there is nothing to call it for.',

  // The rules, in a few words, and when each raises an alert.
  'alert_rule.halt': 'Work is halted',
  'alert_rule.paused': 'Calls are paused for a long time',
  'alert_rule.held_run': 'A held run is waiting',
  'alert_rule.source_suspect': 'HR looks wrong',
  'alert_rule.run_overdue': 'No good run',
  'alert_rule.files_overdue': 'HR’s files no longer come',
  'alert_rule.schedule_paused': 'A schedule is paused for a long time',
  'alert_rule.job_failing': 'A job fails',
  'alert_rule.cases_jump': 'Open cases jump',
  'alert_rule.out_of_sync': 'Too few are in sync',
  'alert_rule.work_stuck': 'Work is stuck',
  'alert_rule.money_unknown': 'Unknown outcome of refunds or top-ups',
  'alert_rule.calls_rejected': 'Calls are rejected',
  'alert_rule.role_missing': 'A process is missing',
  'alert_rule.process_lost': 'A process is gone or frozen',
  'alert_rule.money_contradicted': 'Refunds or top-ups turned out otherwise than recorded',
  'alert_rule.notification_misfit': 'A notification matches no refund',
  'alert_rule.clock': 'A clock is off',
  'alert_rule.tokens': 'Too many access tokens',
  'alert_rule.queue_away': 'The queue is down',
  'alert_rule.hr_sources_differ': 'Processes have different HR sources',
  'alert_rule.process_aside': 'A process leaves all work to others',
  'alert_rule.database_full': 'The database is nearly full',
  'alert_rule.database_slow': 'The database is slow',
  'alert_rule.database_away': 'The database is down',
  'alert_rule.dead_channel': 'A channel does not deliver',
  'alert_rule.heartbeat_failing': 'The heartbeat fails',
  'alerts.figure.minutes': '{figure, plural, =0 {at once} other {after # min}}',
  'alerts.figure.hours': 'after {figure, number} h',
  'alerts.figure.held_run': '{figure, plural, =0 {at once} other {after # min}}',
  'alerts.figure.run_overdue':
    'after {figure, plural, one {# interval} other {# intervals}} of its schedule without a good run',
  'alerts.figure.files_overdue': 'after {figure, number} h without a new delivery',
  'alerts.figure.cases_jump':
    'when a category rises within an hour by more than {figure, number}, and by more than {second, number} % of the employees',
  'alerts.figure.out_of_sync': 'when less than {figure, number} % are in sync for an hour',
  'alerts.figure.work_stuck': 'after {figure, number} min',
  'alerts.figure.calls_rejected': 'when more than {figure, number} % are rejected within 15 min',
  'alerts.figure.money_contradicted': 'from {figure, number} within seven days on',
  'alerts.figure.notification_misfit': 'from {figure, number} within a day on',
  'alerts.figure.clock': 'when it differs by more than {figure, number} s',
  'alerts.figure.tokens': 'when more than {figure, number} are created within an hour',
  'alerts.figure.database_full': 'from {figure, number} % of the connections, or of {second, number} GB',
  'alerts.figure.database_slow': 'when figures take more than {figure, number} ms, three times in a row',
  'runbook.halt':
    'All calls, or those of one enterprise, have stopped because something refuses them or does not answer. Waiting work is kept and continues by itself.\nThe console’s screen Halts and processes, or `dirsync status`, says what is wrong and how to fix it. `dirsync doctor` tests HR, the platform, the credentials and the clock one by one.\nUsual causes: the platform or HR is down, the application secret was changed, an enterprise code is not bound to the application.\nFix the cause. dirsync probes by itself, with some minutes in between, and continues once a probe succeeds; “Probe now” in the console does not wait for that.\nAfter a new secret, password or address, restart dirsync: settings are read at its start. Doctor reads them anew, so it finds nothing wrong.\nIf doctor finds nothing wrong and the halt comes back after a restart, ask the platform’s support and give them the trace id of a case.',
  'runbook.paused':
    'A person has paused all calls, and they are still paused. The alert says who and why.\nAsk that person whether the reason still holds.\nResume with `dirsync resume`, or on the console’s overview. Waiting work is then sent at the permitted rate.\nIf the pause has to last, mute this rule for that time.',
  'runbook.held_run':
    'A run would change or delete more than the breakers permit, so what no person has approved of it is not sent. Whatever else such runs find in that HR source waits with it, unless a part of the plan was decided. Work that was passed before, retries, and syncs by name go on.\nLook at the plan: the console’s screen Runs, or `dirsync plan RUN`. It shows the counts by reason, column and department, and samples.\nIf HR really changed so much, for example in a reorganisation: `dirsync approve RUN`. Exactly the stored plan is sent.\nIf HR or the mapping is wrong, fix it. The run is then checked again and superseded by itself, once nothing of what it holds differs in HR any more; or `dirsync reject RUN --reason R`.\nIf in doubt, ask the people responsible for HR’s data. Waiting does no harm except for the delay.\nIf such plans are normal here, raise the BREAKER_… settings: they count for later plans.',
  'runbook.source_suspect':
    'HR’s data looked so wrong that nothing was planned: no rows, far fewer than before, a column that became empty, or duplicate keys.\nThe run’s message says which of these it was: the console’s screen Runs, or `dirsync runs RUN`.\nRun the mapping’s query in HR yourself; `dirsync plan` shows what a run would do, and writes nothing. Usual causes: an HR import that broke off, a changed view, a lost permission.\nFix HR or the mapping. The next run then passes; `dirsync resync`, or `dirsync resync --full` for a full one, does not wait for it.\nIf HR is right, for example after many employees have left, raise GATE_MAX_FEWER_ROWS or GATE_MAX_EMPTIED for one run.\nIf you do not run HR’s database, call its administrators: employees do not change on the platform until this is fixed.',
  'runbook.run_overdue':
    'Runs of this kind should succeed at each interval of their schedule, and have not for several of them.\n`dirsync runs` shows how the latest ended. The message of a failed one says what to do.\nIf none was started: is a scheduler running (Halts and processes), is the job paused or off (Schedules)?\nIf one is running and does not end: `dirsync runs RUN` shows what is left, and Platform how fast calls are made.\nA run that takes longer than its interval needs a longer interval, or a higher PLATFORM_RATE_LIMIT.',
  'runbook.files_overdue':
    'The folder of HR’s files has had the same complete delivery for days. It is still read, and nothing about it is wrong, so employees count as in sync with it. What has changed in HR since then is not in it.\nLook at the folder, and at `dirsync doctor`: it names the files that are read, and says why newer ones in the folder are not.\nIf the folder has nothing newer, the job that exports and delivers the files has stopped, or delivers somewhere else. Call those who run it.\nFiles that were copied again with the time at which they were written are no new delivery; of several files one new one is.\nIf the files rightly come so rarely, raise ALERT_FILES_OVERDUE, or switch it off.',
  'runbook.schedule_paused':
    'A person has paused a cron job, and it is still paused. The alert says who and why.\nAsk that person whether the reason still holds. Without sync-changes and full-resync the platform falls behind HR; without prune the database grows.\nResume it on the screen Schedules; “Run now” runs it once while it stays paused.\nIf the pause has to last, mute this job under the rule for that time.',
  'runbook.job_failing':
    'A cron job fails, or the run that it starts does. Failures that ended before the configured time are not reported.\nThe screen Schedules shows the latest ticks of each job with their errors; departments, openids and the mirrors start runs, which `dirsync runs` lists with their messages.\nFix what the error names: the mapping of departments, rights on HR or on dirsync’s database, the platform’s answer.\nRun the job again with “Run now” on that screen, and check that it succeeds.\nIf prune fails, the database grows meanwhile; if sweep or retry-due fails, waiting work is sent late.',
  'runbook.cases_jump':
    'Within an hour far more cases than usual were opened in one category. Each keeps its employee or department out of sync.\nOpen the cases of this category in the console, grouped by cause, or `dirsync dead-letters list --category C`.\nRead the message and remedy of one or two: so many at once mostly have one cause, such as a change in HR, in the mapping or in the platform’s settings.\nFix the cause, then retry all of them: the console’s bulk action, or `dirsync dead-letters retry --category C`.\nIf a new version of the mapping caused it, roll that back first.\nThe alert is over when the number has not risen for an hour, even if cases are still open.',
  'runbook.out_of_sync':
    'For an hour the share of employees in sync has been below the configured figure.\nThe overview shows the status of the others: open cases, awaiting activation on the platform, halted, or waiting to be sent.\nIf many are waiting to be sent, a large change is under way; the run’s page says how long it takes.\nIf many are in cases, work through the largest category first.\nIf many are awaiting activation, the platform does not have them yet: ask the people who add employees there.\nIf the share is normal here, for example while a company joins, lower ALERT_OUT_OF_SYNC.\nWhile all calls are paused this alert is not raised; its hour begins anew when the pause ends.',
  'runbook.work_stuck':
    'Work other than a full run’s has waited far longer than it needs at the permitted rate, although nothing is halted. The alert says where it waits: for the scheduler, for a worker, or behind other work; or that workers put it off again and again.\nHalts and processes shows whether the workers are alive; Platform shows whether calls are made, and at what rate.\nThe console’s page of a run shows its remaining entries, and the page of an employee the outcome of its last attempts. Of work that is put off, these say what it waits for.\n`dirsync doctor` tests the queue (Redis) and both databases, and names processes with another queue, which get no work; `dirsync status` says whether the queue itself was paused with another tool.\nRestart the workers, or the scheduler if it hands nothing over: work in progress is picked up again by itself, without being sent twice.\nIf it comes back, keep the logs of the workers and report it.',
  'runbook.money_unknown':
    'A refund or top-up was sent and its answer never came. It may have been carried out, so it is never sent again by itself.\nDo not send it under another number. The console’s screen Money lists each with what is known.\nIf one is still being sent after five minutes, its sender hangs: end that process or container, and its outcome is looked for. A refund that the platform accepted, and that nothing shows as completed a week later, counts as well: set NOTIFICATION_URL or MIRRORS=orders, which show completed refunds.\nFor refunds, a running worker checks the order record unless calls are paused or halted; `dirsync refund settle NUMBER` does so now. That one was not carried out it can tell only from the order’s payment orders: mirror them (MIRRORS=orders, or once with `dirsync resync --orders`).\nFor top-ups, and refunds that are waiting for a decision: look in the platform’s back office, or ask its support, and give the number and trace id.\nRecord the outcome: `dirsync refund resolve NUMBER --as accepted --reason R`, or rejected; `dirsync topup resolve` likewise.\nIf it was not carried out, send it again under a new number.',
  'runbook.calls_rejected':
    'The platform rejects calls because there are too many in a period. dirsync slows down and repeats them: nothing is lost.\nThe console’s screen Platform shows the rate, what is permitted, and which operation is rejected.\nUsual causes: another system calls with the same application id, or PLATFORM_RATE_LIMIT is higher than the platform permits.\nSet PLATFORM_RATE_LIMIT lower, or to auto; `dirsync doctor` names the current rate.\nIf the platform has lowered its limit, ask its support for the new one.',
  'runbook.role_missing':
    'No living process has this role: without a scheduler HR is not read and no run starts, without a worker nothing is sent.\nHalts and processes lists the processes of the last day, with host and last sign of life.\nLook at the log of the one that ended: a wrong setting, not enough memory, a machine that is down.\nStart it again: `dirsync start --roles ROLE`, or `docker compose up -d`. Waiting work is done at once.\nIf it ends again within a minute, `dirsync doctor` in its environment says why.',
  'runbook.process_lost':
    'A process stopped showing signs of life without shutting down in order: it was killed, its machine is down or cut off, or it hangs. Others of its roles may still do the work, at a lower rate and without a reserve.\nHalts and processes lists the processes of the last day, with host, roles and last sign of life.\nIs it still running there? Then it hangs: keep its log and restart it. Docker does not restart an unhealthy container by itself: `docker compose restart SERVICE`.\nIf it is gone, its log and its machine’s log tell why (not enough memory, a node that is down). Start it again, and the alert is over.\nIf it was stopped for good, mute it: after a day the alert is over. A `dirsync start` that is stopped with SIGTERM shuts down in order and raises no alert.',
  'runbook.money_contradicted':
    'The platform, a person or the order record had said that a refund or top-up was not carried out. Then the platform said that it was: by a notification, or by an answer that came late. Beside its state stands “was recorded as not carried out”; or, of a refund, “may have been carried out after all”, where the order record or the mirror shows at least its amount more refunded of the order than was before it and dirsync’s other refunds make: in the console’s screen Money, `dirsync refund list` and `dirsync topup list`.\nWhile it was recorded as not carried out, another one could be sent instead. Check there whether that was done.\nIf there is no second one, nothing is wrong: do not send it again, and acknowledge the alert. Of one that may have been carried out, look in the platform’s back office who has refunded the order, and how often.\nIf there is a second one, look in the platform’s back office whether both were carried out, and ask its support how to take one back. Give both numbers.\nIf a person had said so, ask how they knew: `dirsync.command` has who and why.\n“was recorded as carried out” stands beside one that a person or the order record had called accepted, and the platform then refused: its money has not moved. “What happened” has who recorded it and why. Send it again if it is still wanted.\nThe alert is over seven days after the latest one.',
  'runbook.notification_misfit':
    'The platform sent signed refund notifications that match no refund of dirsync: an unknown number, or another order or amount.\nThe alert names the latest number; the console’s screen Money and `dirsync refund list` name more. Look them up in the platform’s back office.\nUsual causes: another system sends refunds with the same application; a refund was sent by hand; dirsync’s database was restored from an older state.\nIf another system sends refunds, have its notifications sent to it.\nIf order or amount differ for a refund that dirsync did send, tell the platform’s support before more is refunded.\nThe platform repeats such notifications for a while; the alert is over a day after the last one.',
  'runbook.clock':
    'The clock of a machine with a worker differs from the platform’s. dirsync corrects for it in its calls, but from 5 minutes on a receiver on that machine refuses the platform’s notifications.\n`dirsync doctor` on that machine shows by how much.\nTurn on time synchronisation there (`timedatectl`, chrony, NTP); for a container, on its host.\nNothing has to be restarted.\nIf the machine’s clock is right, the platform’s gateway returns a wrong time: ask its support.',
  'runbook.tokens':
    'dirsync creates far more access tokens than it needs: one should last for hours.\nMostly another system creates tokens with the same application id, and each new one invalidates the previous one.\nFind that system: a second deployment, a test environment with production’s credentials, a script.\nGive it an application id of its own, or have it share the token.\nAt 50 within an hour dirsync stops creating them for a while and halts, so that it never reaches the platform’s limit of 60.',
  'runbook.queue_away':
    'No worker, or no scheduler, reaches the queue: Redis, or dirsync’s own database where REDIS_URL is not set. Where the alert names a process, that one alone does not, and others go on with the work. Nothing is lost: the work is kept in PostgreSQL and is added to the queue again.\nIs Redis up? Check `redis-cli ping`, its log, its memory: with a maxmemory-policy other than noeviction, or when full, it refuses writes.\nIs the network open, and is the password right? `dirsync doctor` tests REDIS_URL on the machine where you run it.\nHalts and processes lists the processes: if only one host is affected, look at its network.\nOnce it answers, all processes continue by themselves; none has to be restarted. You may also replace Redis by an empty one.',
  'runbook.hr_sources_differ':
    'A process was started with other HR sources, or with other enterprise codes for one, than the process that was started last. The sources of the last one apply, and are stored in dirsync.hr_source. The others plan and send nothing for the sources that differ, so that no process undoes what another does.\nDuring a rolling restart this is normal for a minute.\nThe alert names the processes that were started before. `dirsync status` marks them, and their `/readyz` says so.\nCompare HR_SOURCES and the file that it names on each host: all processes need the same file.\nIf the named processes have the old file, give them the new one and restart them.\nIf the process that was started last has the wrong file, correct that, and restart it: the others continue by themselves.',
  'runbook.process_aside':
    'What fails for a process while others work halts nothing: it leaves all work to them, and says why. If it fails for them too, the last one halts everything.\nThe platform refuses its application secret (`secret`): during a change of the secret this is normal until every process has been restarted. Compare PLATFORM_APP_SECRET (or the file that PLATFORM_APP_SECRET_FILE names) and PLATFORM_SIGN_ALGORITHM on each host, and restart the process with those of the others. Where it is the others that have the old secret, which the platform accepts for a while yet, give them the new one. All processes with the refused secret stand aside, and one of them asks again every five minutes, and at once when the secret of the others is refused, too.\nIt cannot reach the platform (`unreachable`): try `curl` to PLATFORM_BASE_URL on its host. A firewall, a proxy, or a list of permitted addresses may not know the host. It asks again after 10 seconds, at growing intervals if it fails again soon, and works again by itself, also when the others cannot reach the platform any more.\n`dirsync status`, `dirsync doctor` and the page of processes name such processes; the `/readyz` of those that neither serve the console nor receive notifications answers 503.',
  'runbook.database_full':
    "dirsync’s database is close to the size that you set (ALERT_DATABASE_GB), or has few free connections left.\nSize: `select relname, pg_size_pretty(pg_total_relation_size(oid)) from pg_class where relnamespace = 'dirsync'::regnamespace order by pg_total_relation_size(oid) desc limit 10`. The job prune deletes history at night: is it running (Schedules)?\nIf the size is normal for your number of employees, enlarge the disk and raise ALERT_DATABASE_GB.\nConnections: `select application_name, count(*) from pg_stat_activity group by 1 order by 2 desc` shows what holds them.\nEnd what should not be there, run fewer processes, put a pooler in front, or raise max_connections.\nA full disk stops PostgreSQL and with it dirsync; nothing that was confirmed is lost.",
  'runbook.database_slow':
    'Reading dirsync’s figures takes a handful of small queries, but took too long three times in a row.\nLook at the server: processor, memory, disks, other databases on it.\n`select pid, state, wait_event_type, now() - query_start, query from pg_stat_activity order by query_start` shows what is running or waiting for locks.\nIs autovacuum on, and is a backup or an import running?\nIf the network to the server is slow, raise ALERT_DATABASE_SLOW; if dirsync itself is slow, give the server more resources.',
  'runbook.database_away':
    'dirsync’s own database does not answer, or takes no writes. Nothing is lost.\nThis alert comes from the memory of the process that last checked the rules. Other processes go on if they reach the database. Otherwise nothing is read or sent, and the console shows no figures, until it is back.\nIs the server up? Check `pg_isready`, its log, its disk.\nIs the network open? `dirsync doctor` tests DATABASE_URL.\nOnce it answers, all processes continue by themselves; none has to be restarted.\nIf the process that told of it is restarted before that, no message says that it is over: close it at its receivers yourself.\nIf it has to be restored from a backup, stop dirsync first, and read Backup in docs/operating.md.',
  'runbook.dead_channel':
    'A channel does not accept messages, or not for all of its recipients, so people who rely on it are not notified. The other channels get this alert.\nThe console’s screen Alerts, or `dirsync alerts channels`, shows the last answer of its server.\nUsual causes: a deleted robot or webhook, a changed secret or keyword, an expired mail password, a mail address that no longer exists, a proxy or firewall.\nCorrect its ALERT_CHANNEL_… settings and restart dirsync.\n`dirsync alerts test --channel NAME` sends one message and shows the server’s answer.\nOnce it works, one message sums up what happened meanwhile.',
  'runbook.heartbeat_failing':
    'dirsync calls HEARTBEAT_URL after each good run, so that an external monitor notices when all of dirsync is down. These calls fail.\nThe screen Alerts shows the last answer. The address is in no log: see the settings.\nIs the address still right, and is the check there still active? An answer of 404 or 410 often means that it was deleted.\nIs there a proxy or firewall in between? Call the address from the machine of the worker or scheduler.\nUntil it is fixed, trust neither the monitor’s silence nor its alarm; dirsync’s own alerts still work.',
} as const
