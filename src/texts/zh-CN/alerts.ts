import type { alerts as English } from '../en/alerts.ts'
import type { Section } from '../section.ts'

export const alerts = {
  'alert.halt.title': '{place}',
  'alert.halt.what': '{message}在此期间不会发送，待发送的数据会保留。',
  'alert.halt.remedy': '{remedy}',
  'alert.halt.over': '{continues}',
  'alert.paused.title': '全部调用已暂停',
  'alert.paused.what': '{message}恢复之前不会发送任何数据。',
  'alert.paused.remedy': '请在控制台恢复，或运行 `dirsync resume`；也可先询问暂停的人。',
  'alert.paused.over': '调用已恢复。',
  'alert.held_run.title': '第 {run} 号同步任务（{kind}）待审批',
  'alert.held_run.what': '计划中有 {planned, plural, other {# 项}}待审批，审批之前不会发送。',
  'alert.held_run.remedy':
    '请在控制台或用 `dirsync plan {run}` 查看计划，再运行 `dirsync approve {run}` 批准，或 `dirsync reject {run} --reason R` 驳回。',
  'alert.held_run.over': '已作出决定，已被之后的同步任务取代，或其人事数据源或平台账号已不再使用。',
  'alert.source_suspect.title': '人事数据可疑（{kind}）',
  'alert.source_suspect.what': '第 {run} 号同步任务：{message}',
  'alert.source_suspect.remedy':
    '请在人事系统中执行映射查询，并更正人事数据或字段映射。之后的同步任务会自动通过，也可运行 `dirsync resync` 立即同步。',
  'alert.source_suspect.over': '之后的同步任务确认人事数据正常，或该人事数据源已不在设置中，或其企业已变更。',
  'alert.run_overdue.title': '长时间没有成功的同步任务（{kind}）',
  'alert.run_overdue.what':
    '{lasted, select, never {此类任务尚未成功过} other {上一次成功是在 {age}前}}；按定时计划应每 {interval} 一次。{error, select, none {} other {最近一次失败：{error}}}',
  'alert.run_overdue.remedy':
    '请用 `dirsync runs` 查看最近的同步任务如何结束，用 `dirsync status` 查看是否已停止。',
  'alert.run_overdue.over':
    '目前没有逾期的同步任务：已有同步任务成功完成、已由人工作出决定或取消、定时计划已修改、暂停或关闭、因停止或暂停而等待、调度进程刚刚恢复，或人事数据源已修改。',
  'alert.files_overdue.title': '人事文件不再更新{source, select, none {} other {（{source}）}}',
  'alert.files_overdue.what':
    '同步任务读取的仍是同一批文件，内容没有异常；但人事系统此后的变化不会到达平台。',
  'alert.files_overdue.remedy':
    '请检查交付文件的程序；`dirsync doctor` 会列出正在读取的文件。如果文件本来就很少更新，请调高 ALERT_FILES_OVERDUE。',
  'alert.files_overdue.over': '已读取新的文件，或人事系统不再以文件提供。',
  'alert.schedule_paused.title': '定时任务仍处于暂停状态：{subject}',
  'alert.schedule_paused.what': '{by} 暂停了定时任务 {subject}，因此它不会运行。原因：{reason}',
  'alert.schedule_paused.remedy':
    "请在控制台的“定时计划”页面恢复，或执行 `select dirsync.resume_schedule(''{subject}'')`。",
  'alert.schedule_paused.over': '该任务已恢复或已关闭。',
  'alert.job_failing.title': '定时任务连续失败：{subject}',
  'alert.job_failing.what':
    '{subject} 自首次失败以来未再成功。{error, select, none {} other {最近一次错误：{error}}}',
  'alert.job_failing.remedy':
    '控制台的“定时计划”和“同步任务”页面会显示每次的结果；请按错误信息处理，然后在那里重新运行。',
  'alert.job_failing.over': '该任务已成功，或不再运行。',
  'alert.cases_jump.title': '异常项激增：{category}',
  'alert.cases_jump.what':
    '一小时内新增 {rise, plural, other {# 个}}；该类别目前共有 {count, number} 个未解决的异常项。',
  'alert.cases_jump.remedy':
    '请在控制台查看该类别的异常项。短时间内大量出现多半出于同一原因：消除原因后可批量重试。',
  'alert.cases_jump.over': '数量已不再增长，最近一次统计为 {count, number} 项。',
  'alert.out_of_sync.title': '员工同步率仅为 {share}',
  'alert.out_of_sync.what':
    '不计变更待审批、已驳回或差异已接受以及无人事数据源的员工，共 {in_scope, number} 名，其中 {in_sync, number} 名已由平台确认与人事系统一致。',
  'alert.out_of_sync.remedy': '请在概览中查看其余员工的状态：有异常项、等待激活，还是待发送。',
  'alert.out_of_sync.over':
    '计入的员工中，同步率已达到要求：已由平台确认，或其余员工不再计入。或者有人暂停了全部调用，其余员工因此尚未同步。',
  'alert.work_stuck.title': '待发送的数据迟迟未处理',
  'alert.work_stuck.what':
    '{operation}：共 {count, plural, other {# 项}}，其中最早的一项比正常所需多等了 {age}，而当前同步并未停止。{cause, select, put_off {工作进程已多次处理，但每次都推迟。} not_queued {调度进程尚未将其中任何一项交给工作进程。} not_taken {没有工作进程在处理：{idle, select, never {从未开始处理} other {最近一次处理始于 {idle}前}}。} others_first {其间工作进程在处理其他数据。} other {}}',
  'alert.work_stuck.remedy':
    '{cause, select, put_off {其处理记录说明了在等待什么：请打开 `dirsync runs` 中仍在进行的同步任务。} not_queued {人事数据在计划之后又有变化的，要等下一次同步任务：请用 `dirsync runs` 查看最近的任务如何结束。如果均正常结束，请重启调度进程；重启不会丢失任何数据。} not_taken {请运行 `dirsync doctor` 和 `dirsync status`（会显示队列本身是否被暂停），然后重启工作进程；重启不会丢失任何数据。} other {请运行 `dirsync doctor`，然后重启工作进程；重启不会丢失任何数据。}}',
  'alert.work_stuck.over': '目前没有积压：数据已处理或已取消、因停止或暂停而等待，或工作进程刚刚启动。',
  'alert.money_unknown.title': '{subject, select, refund {有退款结果未知} other {有充值结果未知}}',
  'alert.money_unknown.what':
    '{subject, select, refund {{count, plural, other {# 笔退款}}} other {{count, plural, other {# 笔充值}}}}已发送，平台可能已执行；{for_person, plural, =0 {尚无需要人工核对的} other {其中 # 笔需要人工核对}}。',
  'alert.money_unknown.remedy': '请勿再次发送。控制台的“资金”页面说明了如何逐笔查明并登记结果。',
  'alert.money_unknown.over':
    '{subject, select, refund {已没有结果未知的退款。} other {已没有结果未知的充值。}}',
  'alert.calls_rejected.title': '平台拒绝了 {share} 的调用',
  'alert.calls_rejected.what':
    '15 分钟内共 {calls, number} 次调用，其中 {rejected, number} 次因过于频繁被平台拒绝。dirsync 会自动重试，但速度变慢。',
  'alert.calls_rejected.remedy':
    '请查明是否有其他系统使用同一应用 ID，或调低 PLATFORM_RATE_LIMIT，也可设为 auto。',
  'alert.calls_rejected.over': '最近 15 分钟内很少或没有调用被拒绝。',
  'alert.role_missing.title': '没有运行中的{role}',
  'alert.role_missing.what':
    '{subject, select, worker {不会向平台发送任何数据。} other {不会读取人事系统，也不会启动同步任务。}}等待的工作会保留。',
  'alert.role_missing.remedy': '请运行 `dirsync start --roles {subject}`；上一个进程的日志会说明退出原因。',
  'alert.role_missing.over': '已重新运行。',
  'alert.process_lost.title': '进程已消失或无响应：{subject}',
  'alert.process_lost.what': '该进程没有心跳，也没有正常退出，且没有其他进程接替。其角色：{roles}。',
  'alert.process_lost.remedy':
    '请查看其日志和所在机器，然后重新启动。如果容器状态为 unhealthy，请手动重启：Docker 不会自动重启它。',
  'alert.process_lost.over': '该进程已恢复、已有其他进程接替，或已超过一天。',
  'alert.money_contradicted.title':
    '{subject, select, refund {{how, select, perhaps {某笔退款实际可能已执行} refused {曾认定为已执行的退款实际被拒绝} other {曾认定为未执行的退款实际已执行}}} other {{how, select, refused {曾认定为已执行的充值实际被拒绝} other {曾认定为未执行的充值实际已执行}}}}',
  'alert.money_contradicted.what':
    '{subject, select, refund {{how, select, perhaps {七天内有 {count, plural, other {# 笔退款}}曾认定为未执行，但实际已执行或可能已执行；最近一笔为 {latest}：其订单 {of} 显示的退款多于 dirsync 其他退款之和。除非该订单由他方退过款，否则 {latest} 已执行。如果此后另发过退款，该订单就会重复退款。} refused {七天内有 {count, plural, other {# 笔退款}}的认定结果有误；最近一笔为 {latest}，订单 {of}：曾认定为已执行，但平台拒绝了它，资金没有变动。} other {七天内有 {count, plural, other {# 笔退款}}曾认定为未执行，但平台实际已执行；最近一笔为 {latest}，订单 {of}。如果此后另发过退款，该订单就会重复退款。}}} other {{how, select, refused {七天内有 {count, plural, other {# 笔充值}}的认定结果有误；最近一笔为 {latest}，账户 {of}：曾认定为已执行，但平台拒绝了它，资金没有变动。} other {七天内有 {count, plural, other {# 笔充值}}曾认定为未执行，但平台实际已执行；最近一笔为 {latest}，账户 {of}。如果此后另发过充值，该账户就会重复充值。}}}}',
  'alert.money_contradicted.remedy':
    '{how, select, refused {如仍需要，请重新发送，并告知曾得知其已执行的人。} other {{subject, select, refund {请检查订单 {of} 是否有第二笔退款：控制台的“资金”页面列出了已发送的退款。} other {请检查账户 {of} 是否有第二笔充值：控制台的“资金”页面列出了已发送的充值。}}}}',
  'alert.money_contradicted.over': '最近七天内此类情况少于设定的数量。',
  'alert.notification_misfit.title': '退款通知与退款记录不符',
  'alert.notification_misfit.what':
    '一天内平台通知了 {count, plural, other {# 笔退款}}，但 dirsync 未发送过，或订单、金额不一致；最近一笔为 {latest}。',
  'alert.notification_misfit.remedy': '请在平台查询该退款单号：可能有其他系统以此应用退款，或金额不一致。',
  'alert.notification_misfit.over': '最近一天内此类通知已减少，或已与退款记录相符。',
  'alert.clock.title': '时钟不准',
  'alert.clock.what':
    '工作进程所在机器的时钟与平台相差 {seconds}。dirsync 调用平台时会自动校正，但该机器上的其他程序不会；相差超过 5 分钟，该机器上的通知接收进程会拒收平台的通知。',
  'alert.clock.remedy': '请校准该机器的时钟（NTP）；`dirsync doctor` 会显示时差。',
  'alert.clock.over': '目前没有已知时钟不准的运行中进程。',
  'alert.tokens.title': '令牌创建过于频繁',
  'alert.tokens.what':
    '最近一小时创建了 {count, number} 个，而一个令牌本可使用数小时。达到 50 个后 dirsync 会暂停创建，因为平台上限为 60 个。',
  'alert.tokens.remedy': '请查明是哪个系统使用同一应用 ID：它每创建一个令牌，本系统的令牌就会失效。',
  'alert.tokens.over': '最近一小时创建的令牌已减少。',
  'alert.queue_away.title':
    '{process, select, none {队列无响应或拒绝写入} other {某个进程无法连接队列：{process}}}',
  'alert.queue_away.what':
    '{process, select, none {已计划的工作无法交给工作进程；这些工作会保留，不会丢失。} other {队列对该进程无响应或拒绝其写入；其工作由能连接队列的进程完成。}}{error, select, none {} other {最近一次错误：{error}}}',
  'alert.queue_away.remedy':
    '请启动 Redis，恢复与它的网络连接，或为其增加内存、磁盘空间；`dirsync doctor` 会指出问题所在。',
  'alert.queue_away.over':
    '{process, select, none {不再是所有工作进程或所有调度进程都无法连接队列。{continues}} other {该进程已能连接队列或已结束，或所有工作进程或所有调度进程均无法连接队列。}}',
  'alert.hr_sources_differ.title': '各进程的人事数据源设置不一致',
  'alert.hr_sources_differ.what':
    '{count, plural, other {# 个进程}}的人事数据源设置与最后启动的进程不同，对有差异的人事数据源不做任何处理：{processes}。',
  'alert.hr_sources_differ.remedy': '请让所有进程使用相同的 HR_SOURCES，并重启上述进程。',
  'alert.hr_sources_differ.over': '所有进程的人事数据源设置已一致。',
  'alert.process_aside.title': '某个进程将全部工作交由其他进程完成',
  'alert.process_aside.what':
    '{reason, select, secret {平台拒绝进程 {subject} 的应用密钥，而其他进程使用另一密钥工作。} other {进程 {subject} 无法连接平台，而其他进程仍在工作。}}调用并未停止：其工作由其他进程完成。',
  'alert.process_aside.remedy':
    '{reason, select, secret {请让所有进程使用相同的 PLATFORM_APP_SECRET 和 PLATFORM_SIGN_ALGORITHM，并重启该进程。} other {请检查该主机的网络、防火墙，以及平台的 IP 白名单。平台一旦应答，该进程会自动继续工作。}}',
  'alert.process_aside.over': '该进程已恢复工作，或已结束。',
  'alert.database_full.title':
    '{subject, select, size {dirsync 数据库空间即将用尽} other {dirsync 数据库连接即将用尽}}',
  'alert.database_full.what':
    '{subject, select, size {已用 {used}，上限为 {limit}（{percent}）} other {已用 {used} 个连接，上限为 {limit} 个（{percent}）}}。',
  'alert.database_full.remedy':
    '{subject, select, size {请扩大空间并调高 ALERT_DATABASE_GB，或查明是什么在增长。} other {请查明连接被谁占用（`pg_stat_activity`），或调高 max_connections。}}',
  'alert.database_full.over': '空间或连接已恢复充足。',
  'alert.database_slow.title': 'dirsync 数据库响应缓慢',
  'alert.database_slow.what': '读取少量指标耗时 {milliseconds, number} 毫秒。',
  'alert.database_slow.remedy': '请检查服务器的负载、磁盘和锁；`pg_stat_activity` 会显示正在执行的语句。',
  'alert.database_slow.over': '响应已恢复正常。',
  'alert.database_away.title': 'dirsync 数据库无响应或响应异常',
  'alert.database_away.what':
    '最近一次执行评估的进程无法使用该数据库。如果其他进程也无法使用，恢复之前不会读取人事系统，也不会发送任何数据；不会丢失数据。{error, select, none {} other {最近一次错误：{error}}}',
  'alert.database_away.remedy': '请启动数据库服务器，或恢复与它的网络连接；`dirsync doctor` 会指出问题所在。',
  'alert.database_away.over': '数据库已恢复。除非已暂停或停止，工作会自动继续。',
  'alert.dead_channel.title': '告警无法送达：{subject}',
  'alert.dead_channel.what':
    '渠道 {subject} 无法接收消息，或未送达全部收件人{answer, select, none {} other {：{answer}}}。',
  'alert.dead_channel.remedy': '请检查该渠道的设置，再运行 `dirsync alerts test --channel {subject}` 测试。',
  'alert.dead_channel.over': '该渠道的消息已能送达全部收件人、已没有等待发送的消息，或该渠道已不在设置中。',
  'alert.heartbeat_failing.title': '心跳无法送达',
  'alert.heartbeat_failing.what':
    'HEARTBEAT_URL 指向的监控未接受 dirsync 在同步成功后发出的心跳{answer, select, none {} other {：{answer}}}。',
  'alert.heartbeat_failing.remedy':
    '请检查 HEARTBEAT_URL 以及到监控的网络。在此期间，即使 dirsync 正常，监控也会发出告警。',
  'alert.heartbeat_failing.over': '监控已恢复接受调用，或目前无需调用。',

  'alert_rule.halt': '同步已停止',
  'alert_rule.paused': '调用长时间暂停',
  'alert_rule.held_run': '同步任务待审批',
  'alert_rule.source_suspect': '人事数据可疑',
  'alert_rule.run_overdue': '同步长时间未成功',
  'alert_rule.files_overdue': '人事文件不再更新',
  'alert_rule.schedule_paused': '定时任务长时间暂停',
  'alert_rule.job_failing': '定时任务失败',
  'alert_rule.cases_jump': '异常项激增',
  'alert_rule.out_of_sync': '同步率过低',
  'alert_rule.work_stuck': '待发送数据积压',
  'alert_rule.money_unknown': '资金结果未知',
  'alert_rule.calls_rejected': '调用被平台限流',
  'alert_rule.role_missing': '缺少进程',
  'alert_rule.process_lost': '进程消失或无响应',
  'alert_rule.money_contradicted': '退款或充值的实际结果与认定不符',
  'alert_rule.notification_misfit': '退款通知无法对应',
  'alert_rule.clock': '时钟偏差',
  'alert_rule.tokens': '令牌创建过多',
  'alert_rule.queue_away': '队列无响应',
  'alert_rule.hr_sources_differ': '各进程的人事数据源设置不一致',
  'alert_rule.process_aside': '某个进程将全部工作交由其他进程完成',
  'alert_rule.database_full': '数据库即将用满',
  'alert_rule.database_slow': '数据库缓慢',
  'alert_rule.database_away': '数据库无响应',
  'alert_rule.dead_channel': '渠道无法送达',
  'alert_rule.heartbeat_failing': '心跳失败',
  'alerts.figure.minutes': '{figure, plural, =0 {立即} other {持续 # 分钟后}}',
  'alerts.figure.hours': '持续 {figure, number} 小时后',
  'alerts.figure.held_run': '{figure, plural, =0 {立即} other {等待 # 分钟后}}',
  'alerts.figure.run_overdue': '连续 {figure, plural, other {#}} 个计划周期没有成功的同步',
  'alerts.figure.files_overdue': '{figure, number} 小时没有新文件',
  'alerts.figure.cases_jump':
    '某一类别一小时内新增超过 {figure, number} 个，且超过员工数的 {second, number}%',
  'alerts.figure.out_of_sync': '同步率低于 {figure, number}% 并持续一小时',
  'alerts.figure.work_stuck': '等待超过 {figure, number} 分钟',
  'alerts.figure.calls_rejected': '15 分钟内被限流的调用超过 {figure, number}%',
  'alerts.figure.money_contradicted': '七天内达到 {figure, number} 笔',
  'alerts.figure.notification_misfit': '一天内达到 {figure, number} 条',
  'alerts.figure.clock': '与平台相差超过 {figure, number} 秒',
  'alerts.figure.tokens': '一小时内创建超过 {figure, number} 个',
  'alerts.figure.database_full':
    '连接数达到 {figure, number}%，或容量达到 {second, number} GB 的 {figure, number}%',
  'alerts.figure.database_slow': '连续三次读取指标超过 {figure, number} 毫秒',
  'runbook.halt':
    '全部调用，或某个企业的调用已停止，因为有一方拒绝或没有响应。等待的数据会保留，恢复后自动继续。\n控制台的“停止与进程”页面或 `dirsync status` 会说明原因和处理办法；`dirsync doctor` 会逐项检查人事系统、平台、应用凭证和时钟。\n常见原因：平台或人事系统故障、应用密钥已更换、企业编码未绑定到本应用。\n消除原因后，dirsync 会自行探测，间隔至多数分钟，探测成功即自动恢复；在控制台点击“立即探测”则无需等待。\n更换密钥、密码或地址后，请重启 dirsync：设置只在启动时读取。`dirsync doctor` 每次都重新读取，因此不会发现问题。\n如果健康检查没有发现问题，但重启后仍反复停止，请联系平台方，并提供某个异常项的跟踪 ID。',
  'runbook.paused':
    '有人暂停了全部调用，至今未恢复。告警中写明了暂停的人和原因。\n请向其确认暂停的原因是否仍然存在。\n运行 `dirsync resume`，或在控制台概览中恢复；积压的数据随后会按允许速率发送。\n如需继续暂停，可在此期间静默本规则。',
  'runbook.held_run':
    '某个同步任务要变更或删除的数量超过安全阈值，其中未经批准的内容不会发送。在此期间，此类任务在该人事数据源中发现的其他变更也一并等待（已对计划的一部分作出决定的除外）；此前已通过计划检查的数据、重试和单独同步照常进行。\n请在控制台的“同步任务”页面查看计划，或运行 `dirsync plan RUN`：其中有按原因、列、部门的统计和示例。\n如果人事系统确实有这么多变动（例如组织调整），请运行 `dirsync approve RUN` 批准；只会发送已保存的计划。\n如果人事数据或字段映射有误，请先更正：dirsync 会重新检查，待审批的内容与人事数据不再有差异后自动取代该任务；也可运行 `dirsync reject RUN --reason R` 驳回。\n如无法判断，请询问人事数据的负责人；等待只会推迟同步，没有其他影响。\n如果这样的变动在贵公司属于常态，请调高 BREAKER_ 开头的各项设置：新设置只影响之后的计划。',
  'runbook.source_suspect':
    '人事系统返回的数据明显异常，因此未制定计划：没有数据、行数大幅减少、某列变为空值，或键值重复。\n该任务的信息会说明是哪一种：见控制台的“同步任务”页面，或运行 `dirsync runs RUN`。\n请在人事系统中自行执行映射查询；`dirsync plan` 会显示同步将做什么，不写入任何内容。常见原因：人事系统导入中断、视图被修改、权限丢失。\n更正人事数据或字段映射后，下一次同步会自动通过；也可运行 `dirsync resync`（全量用 `dirsync resync --full`）立即同步。\n如果人事数据属实（例如大批员工离职），请临时调高 GATE_MAX_FEWER_ROWS 或 GATE_MAX_EMPTIED。\n如果人事数据库由他人管理，请联系其管理员：问题解决之前，平台上的员工不会更新。',
  'runbook.run_overdue':
    '此类同步任务按定时计划本应每次都成功，但已连续多个周期没有成功。\n运行 `dirsync runs` 查看最近的任务如何结束；失败任务的信息会说明如何处理。\n如果没有启动过：请检查是否有调度进程（“停止与进程”页面），以及定时任务是否已暂停或关闭（“定时计划”页面）。\n如果有任务一直没有结束：`dirsync runs RUN` 会显示剩余数量，“平台”页面会显示调用速率。\n如果同步所需时间超过周期，请放宽定时计划，或调高 PLATFORM_RATE_LIMIT。',
  'runbook.files_overdue':
    '人事文件所在的文件夹多日来一直是同一批完整的文件。dirsync 仍在读取，内容没有异常，因此员工显示为已同步；但人事系统此后的变化不在其中。\n请查看该文件夹和 `dirsync doctor`：后者列出正在读取的文件，并说明为什么没有读取更新的文件。\n如果文件夹中没有更新的文件，说明导出和交付文件的程序已停止，或交付到了别处，请联系其负责人。\n保留原写入时间重新复制的文件不算新文件；有多个文件时，其中一个更新即算更新。\n如果文件本来就很少更新，请调高 ALERT_FILES_OVERDUE，或将其关闭。',
  'runbook.schedule_paused':
    '有人暂停了一个定时任务，至今未恢复。告警中写明了暂停的人和原因。\n请向其确认原因是否仍然存在。sync-changes 和 full-resync 暂停期间，平台会落后于人事系统；prune 暂停期间，数据库会不断增长。\n请在“定时计划”页面恢复；在暂停期间可用“立即运行”执行一次。\n如需继续暂停，可在此期间静默本规则中的该任务。',
  'runbook.job_failing':
    '某个定时任务，或其启动的同步任务失败。持续时间短于设定值的失败已自行恢复，不会通知。\n“定时计划”页面会显示各任务最近的执行及错误；departments、openids 和各镜像会启动同步任务，可运行 `dirsync runs` 查看其信息。\n请按错误信息处理：部门的字段映射、人事数据库或 dirsync 数据库的权限，或平台的答复。\n在该页面点击“立即运行”，确认其成功。\n如果 prune 失败，数据库会不断增长；如果 sweep 或 retry-due 失败，等待的数据会延迟发送。',
  'runbook.cases_jump':
    '一小时内，某一类别的异常项远多于平时；每一项都会使相应的员工或部门无法同步。\n请在控制台按原因查看该类别的异常项，或运行 `dirsync dead-letters list --category C`。\n先看一两项的信息和处理建议：短时间内大量出现多半出于同一原因，例如人事系统、字段映射或平台设置有改动。\n消除原因后一并重试：使用控制台的批量操作，或运行 `dirsync dead-letters retry --category C`。\n如果由新上线的字段映射引起，请先撤回。\n数量一小时内不再增长，告警即结束，即使仍有异常项。',
  'runbook.out_of_sync':
    '员工同步率低于设定值已达一小时。\n概览会显示其余员工的状态：有异常项、等待激活、已停止，或待发送。\n如果多数在待发送：正在同步大批变更，该任务的页面会显示预计剩余时间。\n如果多数有异常项，请先处理数量最多的类别。\n如果多数在等待激活，说明平台上还没有这些员工，请联系在平台添加员工的人。\n如果这样的同步率属于常态（例如公司正在分批上线），请调低 ALERT_OUT_OF_SYNC。\n暂停全部调用期间不会触发本告警；暂停结束后重新计时一小时。',
  'runbook.work_stuck':
    '当前同步并未停止，但有数据（全量同步除外）的等待时间远超按允许速率所需的时间。告警会说明卡在何处：等待调度进程、等待工作进程，或排在其他数据之后；或者被工作进程一再推迟。\n“停止与进程”页面会显示工作进程是否存活，“平台”页面会显示是否有调用及其速率。\n在控制台，同步任务的页面会显示剩余的数据，员工页面会显示最近的处理记录。被推迟的数据，可从处理记录得知在等待什么。\n`dirsync doctor` 会检查队列（Redis）和两个数据库，并指出使用其他队列、因而得不到数据的进程；`dirsync status` 会显示是否有人用队列自身的工具暂停了队列。\n请重启工作进程（如果卡在调度进程，则重启调度进程）：处理到一半的数据会自动继续，不会重复发送。\n如果再次出现，请保留工作进程的日志并报告问题。',
  'runbook.money_unknown':
    '某笔退款或充值已发送，但未收到平台的响应。平台可能已执行，因此 dirsync 不会自动再次发送。\n请勿换一个单号再次发送。控制台的“资金”页面逐笔列出了已知情况。\n五分钟后仍在发送的，其发送进程已无响应：请结束该进程或容器，之后才会查询结果。平台已受理、但一周后仍无信息表明已完成的退款也计算在内：设置 NOTIFICATION_URL 或 MIRRORS=orders 可得知退款已完成。\n对于退款，调用未暂停或停止时，运行中的工作进程会查询订单记录；运行 `dirsync refund settle NUMBER` 可立即查询。只有已知该订单的支付订单，才能判断退款未执行：请开启支付订单镜像（MIRRORS=orders，或用 `dirsync resync --orders` 读取一次）。\n对于充值和需要人工核对的退款：请在平台后台查询，或联系平台方并提供单号和跟踪 ID。\n查明后登记结果：`dirsync refund resolve NUMBER --as accepted --reason R`（未执行则为 rejected）；充值用 `dirsync topup resolve`。\n如果确认未执行，请用新的单号重新发送。',
  'runbook.calls_rejected':
    '平台因调用过于频繁而拒绝了一部分调用。dirsync 会降速并自动重试，不会丢失数据。\n控制台的“平台”页面会显示当前速率、允许速率以及被拒绝的操作。\n常见原因：有其他系统使用同一应用 ID，或 PLATFORM_RATE_LIMIT 高于平台的实际限额。\n请调低 PLATFORM_RATE_LIMIT，或设为 auto；`dirsync doctor` 会显示当前速率。\n如果平台降低了限额，请向平台方确认目前的限额。',
  'runbook.role_missing':
    '没有承担该角色的存活进程：没有调度进程，就不会读取人事系统，也不会启动同步任务；没有工作进程，就不会发送任何数据。\n“停止与进程”页面会列出最近一天内的进程，包括主机和最近心跳。\n请查看已退出进程的日志：设置有误、内存不足，还是机器故障。\n重新启动：`dirsync start --roles ROLE`，或 `docker compose up -d`。等待的工作会立即处理。\n如果启动后一分钟内又退出，请在其运行环境中执行 `dirsync doctor` 查明原因。',
  'runbook.process_lost':
    '某个进程未正常退出就停止了心跳：被强制终止、所在机器故障或断网，或已卡死。同角色的其他进程可能仍在工作，但速度降低，且没有备用。\n“停止与进程”页面会列出最近一天内的进程，包括主机、角色和最近心跳。\n该进程是否仍在运行？如果是，说明已卡死：请保留日志后重启。Docker 不会自动重启 unhealthy 的容器，请运行 `docker compose restart SERVICE`。\n如果已消失，请查看其日志和机器日志（内存不足、节点故障等）。重新启动后告警即结束。\n如果不再需要该进程，请将其静默：一天后不再提示。以 SIGTERM 停止的 `dirsync start` 会正常退出，不会触发告警。',
  'runbook.money_contradicted':
    '平台、登记人或订单记录曾表明某笔退款或充值未执行；之后平台的通知或迟到的响应表明其实际已执行。在控制台的“资金”页面、`dirsync refund list` 和 `dirsync topup list` 中，其状态旁注有“曾认定为未执行”；如果订单记录或镜像显示的退款，比该退款之前的金额与 dirsync 其他退款之和至少多出该笔金额，则注有“实际可能已执行”。\n在认定为未执行期间，可能已另外发送过一笔，请在上述列表中核对。\n如果没有第二笔，则一切正常：请勿再次发送，并认领告警。对于可能已执行的退款，请在平台后台查明该订单由谁退款、退了几次。\n如果有第二笔，请在平台后台查询两笔是否都已执行，并联系平台方撤回其中一笔，提供两个单号。\n如果是由人登记的，请询问其依据：`dirsync.command` 记录了登记人和原因。\n旁注“曾认定为已执行”的，是由人或订单记录认定为已受理、随后被平台拒绝的：资金没有变动。“历史”中有登记人和原因。如仍需要，请重新发送。\n最近一笔过去七天后，告警结束。',
  'runbook.notification_misfit':
    '平台发来了签名有效的退款通知，但与 dirsync 的退款记录不符：单号不存在，或订单、金额不一致。\n告警中给出了最近一笔的退款单号，控制台的“资金”页面和 `dirsync refund list` 还列出其他单号，请在平台后台查询。\n常见原因：有其他系统以同一应用退款、有人手工退款，或 dirsync 数据库曾恢复到较早的备份。\n如果由其他系统发送退款，请将其通知地址改为该系统。\n如果 dirsync 确实发送过该退款而订单或金额不一致，请先联系平台方，再继续退款。\n平台会在一段时间内重复发送此类通知；最后一次通知过去一天后，告警结束。',
  'runbook.clock':
    '某台运行工作进程的机器，其时钟与平台不一致。dirsync 调用平台时会自动校正，但该机器上的其他程序不会；相差超过 5 分钟，该机器上的通知接收进程会拒收平台的通知。\n在该机器上运行 `dirsync doctor`，可看到相差多少。\n请开启时间同步（`timedatectl`、chrony、NTP）；容器则在其宿主机上设置。\n无需重启任何进程。\n如果机器时钟无误，则是平台网关返回的时间有误，请联系平台方。',
  'runbook.tokens':
    'dirsync 创建令牌的次数远超所需：一个令牌本可使用数小时。\n多半是有其他系统用同一应用 ID 创建令牌，每创建一个，之前的令牌就会失效。\n请查明是哪个系统：另一个部署、使用生产凭证的测试环境，或某个脚本。\n请为其申请单独的应用 ID，或让其共用令牌。\n一小时内达到 50 个时，dirsync 会暂停创建并停止同步，以免触及平台 60 个的上限。',
  'runbook.queue_away':
    '没有工作进程或没有调度进程能连接队列：即 Redis，未设置 REDIS_URL 时为 dirsync 自己的数据库。如果告警指明了某个进程，则只有该进程无法连接，其他进程会继续工作。不会丢失数据：工作保留在 PostgreSQL 中，之后会重新放入队列。\nRedis 是否在运行？请查看 `redis-cli ping`、日志和内存：maxmemory-policy 不是 noeviction，或内存已满时，Redis 会拒绝写入。\n网络是否畅通、密码是否正确？在相应机器上运行 `dirsync doctor`，会检查 REDIS_URL。\n“停止与进程”页面会列出各进程：如果只有一台主机受影响，请检查该主机的网络。\n恢复后所有进程会自动继续，无需重启；也可以换一个空的 Redis。',
  'runbook.hr_sources_differ':
    '某个进程启动时的人事系统（或其企业编码）与最后启动的进程不同。以最后启动的进程为准，其设置保存在 dirsync.hr_source 中。其他进程对有差异的人事系统既不制定计划，也不发送数据，以免互相覆盖。\n逐个重启进程时，出现一分钟左右属于正常情况。\n告警中列出了较早启动的进程；`dirsync status` 会标出它们，其 `/readyz` 也会说明原因。\n请在各主机上比较 HR_SOURCES 及其指向的文件：所有进程须使用同一份文件。\n如果所列进程使用的是旧文件，请换成新文件并重启。\n如果最后启动的进程用错了文件，请更正后重启该进程，其他进程会自动继续。',
  'runbook.process_aside':
    '其他进程仍在工作时，单个进程的故障不会停止任何调用：该进程将全部工作交由它们完成，并说明原因。如果其他进程也遇到同样的故障，则由最后一个进程停止全部调用。\n平台拒绝其应用密钥（`secret`）：更换密钥期间，在全部进程重启之前，这属于正常情况。请在各主机上比较 PLATFORM_APP_SECRET（或 PLATFORM_APP_SECRET_FILE 指向的文件）和 PLATFORM_SIGN_ALGORITHM，按其他进程的设置更正后重启该进程。如果其他进程使用的是旧密钥、平台暂时仍接受，请为它们换上新密钥。使用被拒密钥的进程都会停止工作，其中一个每五分钟再询问一次平台；如果其他进程的密钥也被拒绝，则立即询问。\n无法连接平台（`unreachable`）：请在该主机上用 `curl` 访问 PLATFORM_BASE_URL。防火墙、代理或平台的 IP 白名单可能未包含该主机。该进程 10 秒后再次询问，如果很快再次失败则间隔逐渐延长，恢复后自动继续工作，即使其他进程此时已无法连接平台。\n`dirsync status`、`dirsync doctor` 和进程页面会列出这些进程；其中既不提供控制台、也不接收通知的进程，其 `/readyz` 返回 503。',
  'runbook.database_full':
    "dirsync 数据库已接近您设定的大小（ALERT_DATABASE_GB），或可用连接所剩无几。\n大小：执行 `select relname, pg_size_pretty(pg_total_relation_size(oid)) from pg_class where relnamespace = 'dirsync'::regnamespace order by pg_total_relation_size(oid) desc limit 10` 查看。历史数据由定时任务“清理历史”在夜间清理，请确认它在运行（“定时计划”页面）。\n如果这样的大小与员工数量相符，请扩大磁盘空间并调高 ALERT_DATABASE_GB。\n连接：执行 `select application_name, count(*) from pg_stat_activity group by 1 order by 2 desc` 查看被谁占用。\n请断开多余的连接、减少进程数量、使用连接池，或调高 max_connections。\n磁盘写满时 PostgreSQL 会停止，dirsync 也随之停止；已确认的数据不会丢失。",
  'runbook.database_slow':
    '读取 dirsync 的指标只需几个小查询，却连续三次耗时过长。\n请检查服务器：处理器、内存、磁盘，以及其上的其他数据库。\n执行 `select pid, state, wait_event_type, now() - query_start, query from pg_stat_activity order by query_start`，可看到正在执行或等待锁的语句。\n请确认 autovacuum 已开启，以及当前是否有备份或导入在运行。\n如果到服务器的网络较远，请调高 ALERT_DATABASE_SLOW；如果 dirsync 本身变慢，请为服务器增加资源。',
  'runbook.database_away':
    'dirsync 自己的数据库没有响应，或无法写入。不会丢失数据。\n本告警由最近一次执行评估的进程凭内存发出。其他进程如能访问数据库，会继续工作；否则在数据库恢复之前，不会读取和发送任何数据，控制台也不显示数据。\n服务器是否在运行？请查看 `pg_isready`、数据库日志和磁盘。\n网络是否畅通？`dirsync doctor` 会检查 DATABASE_URL。\n数据库恢复后，所有进程会自动继续，无需重启。\n如果发出告警的进程在此之前重启，则不会再有恢复通知：请在接收端自行关闭该告警。\n如需从备份恢复，请先停止 dirsync，并阅读 docs/operating.md 中的“Backup”一节。',
  'runbook.dead_channel':
    '某个渠道无法接收消息，或未送达全部收件人，依赖它的人收不到告警；此事由其他渠道通知。\n控制台的“告警”页面，或 `dirsync alerts channels`，会显示其服务器最近一次的答复。\n常见原因：机器人或 webhook 已被删除、密钥或关键词已更改、邮箱密码过期、收件地址已失效、代理或防火墙拦截。\n请更正其 ALERT_CHANNEL_ 开头的设置，并重启 dirsync。\n`dirsync alerts test --channel NAME` 会发送一条消息，并显示服务器的答复。\n渠道恢复后，期间发生的事情会合并为一条消息送达。',
  'runbook.heartbeat_failing':
    '每次同步成功后，dirsync 会调用 HEARTBEAT_URL，以便外部监控在 dirsync 整体失效时发现。目前这些调用失败。\n“告警”页面会显示最近一次答复。地址不会写入日志，请查看设置。\n地址是否仍然正确，监控项是否仍然启用？答复为 404 或 410 通常表示监控项已被删除。\n是否有代理或防火墙拦截？请在工作进程或调度进程所在的机器上调用该地址。\n修复之前，该监控的沉默和告警都不可信；dirsync 自己的告警不受影响。',
} as const satisfies Section<typeof English>
