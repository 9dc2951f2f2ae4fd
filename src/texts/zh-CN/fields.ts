/** What the parameters and fields of the API mean, in Chinese, by their English in the schemas. */
export const fieldMeanings: Readonly<Record<string, string>> = {
  // overview
  'How far back': '统计多久以来的数据',
  'Seconds between two points': '相邻两点相隔的秒数',
  'Seconds since 1970': '1970 年以来的秒数',
  'Share of employees in sync, 0 to 1, the lowest of each step; null: not recorded':
    '同步率，0 到 1，取每段时间的最低值；null 表示没有记录',
  'The highest value of each step': '每段时间的最高值',
  'Entities to be sent, the highest value of each step': '待发送的数量，取每段时间的最高值',
  '1: all work was halted, or calls were paused, at some moment of the step':
    '1：该段时间内，全部工作曾停止，或调用曾暂停',
  'Employees in service according to HR, by status; in_scope is their sum':
    '人事系统中的在职员工，按状态；in_scope 为其总数',
  'When an enterprise last lost its HR source; null: not within a week, so that employees without one are nothing to do':
    '最近一次有企业失去人事数据源的时间；null 表示一周内没有，因此没有数据源的员工无需处理',
  '0 to 1, of the employees with an HR source; null: there are none yet':
    '0 到 1，仅计有人事数据源的员工；null 表示还没有这样的员工',
  'Since when the oldest pending entity has been out of sync': '等待最久的待发送项自何时起未同步',
  '`*`: everything; else the code of an enterprise': '`*` 表示全部，否则为企业编码',
  'dirsync, or the person who paused all calls': 'dirsync，或暂停全部调用的人',
  'Probes that failed': '失败的探测次数',
  'null: not before a person resumes': 'null 表示有人恢复之前不探测',
  'false: a person has paused all calls, so that none is made as a probe':
    'false 表示有人暂停了全部调用，因此不做探测',
  'The HR source that it is about; empty: there is only one, or it is about all':
    '对应的人事数据源；为空表示只有一个，或涉及全部',
  'How many employees, rows or cases it is about; 0: everything':
    '涉及多少名员工、多少行或多少个异常项；0 表示全部',
  'Rows without a decision; null: its plan is not decided in parts':
    '尚未审批的行数；null 表示该计划不是分部分审批',
  'Rows that people have rejected, if its plan is decided in parts': '计划分部分审批时，被驳回的行数',
  'The held run whose approved part it sends': '所发送的是哪个待审批任务中已批准的部分',
  'Entities that are still to be sent': '尚待发送的数量',
  'Of the plan: entities by reason': '计划中的数量，按原因',
  'Last outcome per entity; empty until the run has ended': '每项的最后结果；任务结束之前为空',
  'Cases that failed in it and were unresolved when it ended': '在该任务中失败，且任务结束时尚未解决的异常项',
  'Of a mirror': '仅数据镜像的任务有',
  'Null unless it can be estimated': '无法预计时为 null',
  'How long the platform asked for a pause': '平台要求等待的时长',
  'Calls that the run can make now': '该任务现在可执行的调用',
  'Calls of work that goes first': '排在前面的调用',
  'Entities that will be retried later': '稍后重试的数量',
  'Enterprises of which the platform knows hardly anyone by their user id': '平台几乎不认识其员工 ID 的企业',
  'Employees in service that were looked at: the first and the last by user id':
    '查看了哪些在职员工：其中第一个和最后一个员工 ID',
  'Those of them that the platform does not know': '其中平台不认识的',
  'The user id of one': '其中一个员工 ID',
  'Employees about whom the platform was not asked since a restore or fail-over; 10,000: or more':
    '数据库恢复或切换后尚未向平台核对的员工数；10,000 表示不少于此数',
  'Withheld fields whose case was ignored, at most 20: employees without one count as dead_lettered':
    '异常项已被忽略的停发字段，最多 20 个；因此未发送该字段的员工仍计入 dead_lettered',
  'Runs that found HR wrong, which no later one has found right; at most two of each HR source':
    '发现人事数据可疑、且此后没有任务判定其正常的任务；每个人事数据源最多两个',
  'Runs that failed, by kind and HR source, if no later one has been planned; those of named employees and retries only until all employees were checked':
    '按类型和人事数据源列出的失败任务，仅限此后没有同类任务完成计划的；指定员工的任务和重试任务仅列至全体员工再次核对为止',
  'Unresolved cases that dirsync retries by itself, without those whose retry is under way':
    '由 dirsync 自动重试的未解决异常项，不含正在重试的',
  'Refunds and top-ups of unknown outcome about which a person has to find out':
    '结果未知、需要人工查明的退款和充值',
  'The platform asked for no calls until then': '平台要求在此之前不调用',
  'Living processes by role': '存活的进程，按角色',
  'Current alerts that are not muted, the worst first': '未静默的当前告警，最严重的在前',
  'What it is about, where a rule may find several things; otherwise empty':
    '告警的对象，规则可能涉及多个对象时给出，否则为空',
  'Rows per page': '每页行数',
  'null while it waits for a plan': '等待计划时为 null',
  'Since when it waits for a plan, because HR has changed the row meanwhile':
    '因人事数据又有变更而等待新计划，自此时起',
  'A person named it: it is sent as HR has it, whatever a plan saw':
    '由人指定：无论计划读到什么，都按人事系统现有数据发送',
  'What holds it back: that a person has paused all calls, or a halt of its work':
    '受阻的原因：有人暂停了全部调用，或同步已停止',
  'User id or department code': '员工 ID 或部门编码',
  'The `cursor` of the next page; null: this is the last one': '下一页的 `cursor`；null 表示这是最后一页',
  'null: there is something left to do': 'null 表示还有步骤未完成',
  'Who hid the steps; null: all were done': '隐藏初始步骤的人；null 表示已全部完成',
  'Whether HR and the platform are those of the embedded trial': '人事系统和平台是否为内嵌试用环境',
  'Lines for settings.env that lead from the trial to your own HR and platform':
    '从试用改用您自己的人事系统和平台时，写入 settings.env 的行',
  'next: it can be done now': 'next 表示现在可以进行',
  'The step that has to be done first': '需先完成的步骤',
  'Why it failed': '失败的原因',
  'How many there are': '总数',
  'How many halts there are besides those that the reason names': '除原因中提到的之外，还有多少处停止',
  'Lines for settings.env: for administrators as they are, without secrets, else with example values':
    '写入 settings.env 的行：对管理员给出实际值，不含密钥；对其他人给出示例值',
  'Made by the caller. A repeated request with the same key gives the first answer, for a day.':
    '由调用者自定。一天内以相同的键重复请求，得到首次的响应。',
  'Why; kept in the audit': '原因；记入审计',
  'false: they were not paused': 'false 表示并未暂停',
  '`#17`, `case 17` or `17`, `run 12`, a trace id, a code of the platform, the number of a refund or top-up, of its order or account or of a payment order, a user id, an open id, the code or name of a department; for reviewers a name, a work number, a mobile number or an e-mail address':
    '`#17`、`case 17` 或 `17`、`run 12`、跟踪 ID、平台错误码、退款或充值的编号及其订单号或账户、支付订单号、员工 ID、open id、部门编码或名称；审核员还可使用姓名、工号、手机号或邮箱',
  'Of a page: a short list of links, also where there is but one, to be shown while one types':
    '用于页面：输入时显示的简短链接列表，只有一个结果时也显示',
  'By number, or by trace id': '按编号或跟踪 ID',
  'The number, if the platform has notified of a refund with it that dirsync does not know':
    '平台已就该编号的退款发来通知，而 dirsync 没有其记录：编号',
  'Refunds and top-ups by their number, that of the platform or of their order or account, or trace id':
    '退款和充值，按编号、平台编号、其订单号或账户，或跟踪 ID',
  'Payment orders of the mirror by their number, or that of the merchant':
    '镜像中的支付订单，按订单号或商户订单号',
  'Codes of the platform by number, with their unresolved cases':
    '按编号查到的平台错误码，及其未解决的异常项',
  'What the text is of the employee, or begins or ends': '查询文本是员工的哪一项，或其开头或结尾',
  // alerts
  'When the rules were last checked; null: never': '规则最近一次评估的时间；null 表示从未评估',
  'false: not evaluated for two minutes': 'false 表示已有两分钟未评估',
  'What goes on or is about to be raised: the worst first, then the newest':
    '持续中或即将触发的告警：最严重的在前，其次最新的在前',
  'pending: not for as long as its rule wants': 'pending 表示持续时间尚未达到规则的要求',
  'How often it came back within 15 minutes of being gone': '消失后 15 分钟内再次出现的次数',
  'Since when it no longer holds; it is over after a minute of that, or 15 once it came back':
    '自何时起不再成立；此后一分钟视为恢复，曾再次出现的为 15 分钟',
  'Who takes care of it: it is not told again until it is over, or a further refund or top-up comes to it; null: no one has said so':
    '由谁处理：恢复之前不再通知，除非其中新增退款或充值；null 表示尚无人认领',
  'By channel; empty if none was told': '按渠道；均未通知时为空',
  'raised, repeated, acknowledged, recovered; withheld: quiet hours or a mute kept it back':
    'raised、repeated、acknowledged、recovered；withheld 表示因免打扰时段或静默而未通知',
  'waiting, sent, given_up; null: there is no message, or it is older than 30 days':
    'waiting、sent、given_up；null 表示没有消息，或消息已超过 30 天',
  'Those that take alerts of its severity': '接收该级别告警的渠道',
  'Why it is not sent now; null: it is sent': '现在不发送的原因；null 表示会发送',
  'When it may be told; null: when the rule below has nothing more to say':
    '何时可以发送；null 表示待下面的规则恢复之后',
  'The rule that says the same, or what it follows from': '说明同一问题的规则，或引起该告警的规则',
  'Who muted it': '静默的操作者',
  'Why it was muted': '静默的原因',
  'How many go on; at most 200 are listed': '持续中的数量；最多列出 200 个',
  'Host, or mail addresses': '主机名或邮箱地址',
  'Alerts of a lesser severity are not sent there': '低于该级别的告警不发往该渠道',
  'The events of runs and cases that it gets instead of alerts; null: it gets alerts':
    '该渠道接收的同步任务和异常项事件（代替告警）；null 表示接收告警',
  'unused: nothing was sent yet; new: known only to this process, or not evaluated yet':
    'unused 表示尚未发送过消息；new 表示只有该进程配置了该渠道，或尚未评估',
  'What its server answered last': '其服务器最近一次的响应',
  'Messages that wait to be sent': '等待发送的消息',
  'Whether the process that answers has it among its settings': '响应本请求的进程是否配置了它',
  'When it is an alert, in words': '何时告警，以文字说明',
  'null: off': 'null 表示关闭',
  'While one of these fires, it is not told': '其中任何一个告警持续期间，不通知该规则的告警',
  'Alerts of it that go on': '该规则持续中的告警',
  'The subject of the alerts that it keeps back; null: all of the rule':
    '所静默告警的对象；null 表示该规则的全部告警',
  'HH:MM': 'HH:MM',
  'HH:MM; before `starts`: on the next day': 'HH:MM；早于 `starts` 时为次日',
  'When they are over, if it is quiet now; null: it is not':
    '当前处于免打扰时段时，其结束时间；null 表示不在免打扰时段',
  'The good run that it is called for; null: there was none, or it is not called any more':
    '所对应的成功同步任务；null 表示还没有，或已不再调用',
  'When the monitor took it; null: not yet': '监控接收调用的时间；null 表示尚未接收',
  'What it answered last; null: nothing yet': '最近一次的响应；null 表示还没有',
  'What to do, step by step': '逐步的处理方法',
  'Alerts that are active or about to be raised': '持续中或即将触发的告警',
  'false: it is over, not raised yet, or another person has acknowledged it':
    'false 表示告警已恢复、尚未触发，或已由他人认领',
  'How long; or give `until`': '多长时间；也可改用 `until`',
  'A moment (ISO 8601); without an offset in the time zone `zone`':
    '时刻（ISO 8601）；不带时差时按时区 `zone`',
  'A moment (ISO 8601), within 30 days; without an offset in the time zone `zone`':
    '时刻（ISO 8601），30 天以内；不带时差时按时区 `zone`',
  'Time zone of `until` if it has no offset, such as Asia/Shanghai':
    '`until` 不带时差时的时区，例如 Asia/Shanghai',
  'Only alerts about this subject, such as an enterprise code; absent: all alerts of the rule':
    '仅限该对象的告警，例如某个企业编码；不给出则为该规则的全部告警',
  'false: it was not muted': 'false 表示并未静默',
  'IANA name, such as Asia/Shanghai': 'IANA 时区名，例如 Asia/Shanghai',
  'false: there were none': 'false 表示并未设置',
  'What its server answered, or why there is no answer; without secrets':
    '其服务器的响应，或没有响应的原因；不含密钥',
  // runs
  'Names of the HR sources; empty where there is only one': '各人事数据源的名称；只有一个时为空',
  'full: skips employees in sync that the platform confirmed within this time':
    '用于 full：跳过平台在这段时间内确认过的已同步员工',
  'employees: user ids or enterprise/userid; a text has one per line, or commas between them':
    '用于 employees：员工 ID 或“企业编码/员工 ID”；文本中每行一个，或以逗号分隔',
  'changes, full, departments: one of several HR sources; absent: all of them':
    '用于 changes、full、departments：多个人事数据源中的一个；不给出则为全部',
  'All runs started: one per HR source, if there are several':
    '启动的全部同步任务：有多个人事数据源时，每个数据源一个',
  'Employees in service according to HR': '人事系统中的在职员工',
  'Answers once the run is over or held, at the latest after so many seconds; for programs':
    '任务结束或进入待审批后才响应，最长等待的秒数；供程序使用',
  'User ids or cases that it covers, at most 200': '涉及的员工 ID 或异常项，最多 200 个',
  'Of a held run: when HR was last checked again': '待审批任务：最近一次重新检查人事数据的时间',
  'What was rejected of its plan and still differs; null: nothing':
    '其计划中已驳回、至今仍不一致的内容；null 表示没有',
  'Employees who still differ by it, at most 10000': '因驳回而至今仍不一致的员工，最多 10000',
  'Departments that are still not deleted by it': '因驳回而至今仍未删除的部门',
  'true: there are more employees': 'true 表示还有更多员工',
  'When HR’s rows were first planned': '这些人事数据最早列入计划的时间',
  'Employees in service according to HR, whatever was decided about others':
    '人事系统中的在职员工，与对其他员工的审批结果无关',
  'Employees that the plan covers: those in scope, and those who leave by it; not those whose leaving was rejected before':
    '计划涵盖的员工：在职员工，以及因该计划离职的员工；不含此前其离职已被驳回的',
  'Whether every row of HR was read': '是否读取了全部人事数据',
  'Employees left out because the platform confirmed them within max_age':
    '平台在 max_age 内确认过、因而跳过的员工',
  'Mean time that a call waited for the pacer': '每次调用等待调速器的平均时长',
  'false: outcomes and calls of a large run are counted when it ends':
    'false 表示任务较大，结果和调用在结束时才统计',
  'Cases that failed in it and were unresolved when it ended, or are so far':
    '在该任务中失败，且任务结束时（或到目前为止）尚未解决的异常项',
  'The first of these cases': '其中的前若干个异常项',
  'Cases that failed in it for the first or the last time, at most 1000':
    '首次或最近一次失败发生在该任务中的异常项，最多计到 1000',
  'How many there are; the latest 50 are listed': '总数；只列出最近的 50 条',
  'As the function or the command that does it': '执行它的函数或命令的名称',
  'The database user, and whom the shell or the console named':
    '数据库用户，以及命令行或控制台给出的人员名称',
  'The previous finished run of the same kind': '上一个已结束的同类任务',
  'Time that its calls waited for the pacer, summed up': '各次调用等待调速器的总时长',
  'Cases that failed for the first time in it, at most 1000': '首次失败发生在该任务中的异常项，最多计到 1000',
  'What the sanity gate measured in HR; only for runs that it stopped':
    '源数据检查对人事数据的统计；仅被其拦下的任务有',
  'Rows without a user id': '没有员工 ID 的行数',
  'Rows of enterprises that are not those of the HR source': '不属于该人事数据源的企业的行数',
  'The other rows: those that the gate counts': '其余的行：源数据检查所计的行数',
  'Share of empty values among employees in service, 0 to 1': '在职员工中的空值占比，0 到 1',
  'The same in the last good run': '上次成功的同步任务中的同一数值',
  'Why it is held': '待审批的原因',
  'Only held runs keep their plans, until 180 days after their end, 30 without a decision':
    '只有待审批过的任务保存计划：结束后保留 180 天，没有审批的 30 天',
  'Of a first run that is held because so many have left': '首次同步任务因离职员工过多而待审批时有',
  'Rows that HR has changed since; null: not known yet': '此后人事系统又变更的行；null 表示尚不清楚',
  'The part; {}: all that was undecided': '审批的部分；{} 表示所有尚未审批的行',
  'How many rows were decided': '审批的行数',
  'How many rows of the plan still wait for a decision': '计划中仍待审批的行数',
  'How many of what was approved are undecided again, as its run ended before it sent them':
    '已批准的行中，因其任务在发送前结束而重新待审批的行数',
  'Of those that are not: rows by reason': '其余的行，按原因',
  'Rows by field that changes or breaks a rule; null: HR has not been read for all of them':
    '行数，按变更或不合规则的字段；null 表示未读完所有行的人事数据',
  'The 50 with most rows, at least': '至少为行数最多的 50 个部门',
  'From department to department, as departments': '按部门调动，范围与 `departments` 相同',
  'The department that they leave': '调出部门',
  'What came of sending an approved part; empty until its run has ended':
    '已批准部分的发送结果；其任务结束之前为空',
  'The run that sends an approved part; null: the held run itself':
    '发送已批准部分的任务；null 表示待审批的任务本身',
  'Counted in the background after the run was held; of a part, when it was decided':
    '任务待审批后在后台统计；分部分审批的在审批时统计',
  'Rows that had already changed in HR when they were read': '读取时人事系统已又变更的行',
  'Why HR could not be read': '无法读取人事系统的原因',
  'Highest first; empty until it is done': '从高到低；统计完成之前为空',
  'The 50 largest': '行数最多的 50 个',
  'From department to department, the 50 largest': '按部门调动，行数最多的 50 种',
  'The same figures of the rows that are not decided, of a held plan that is decided in parts; else null':
    '待审批任务分部分审批时，尚未审批的行的同类统计；否则为 null',
  'How many undecided rows of a held plan match the filter; null without one, or where they are too many to count':
    '待审批任务中符合筛选条件、尚未审批的行数；没有筛选条件或行数过多无法统计时为 null',
  'In HR, else the one that the platform last showed': '人事系统中的部门；没有时为平台最近显示的部门',
  'What differs from what the platform confirmed last': '与平台最近一次确认的内容相比的差异',
  'HR’s value, masked': '人事系统的值，已脱敏',
  'The platform’s value, masked but for names; a department as it was last seen. Absent: the platform was not asked, or does not tell':
    '平台的值，除姓名外已脱敏；部门为最近所见。没有此项表示未查询平台，或平台不提供',
  'HR has another row by now: what is not sent yet is left to the next plan; null: HR cannot be read':
    '人事系统已有新的数据：尚未发送的留待下一次计划；null 表示无法读取人事系统',
  'Few rows of the plan have the same reason and changed fields, or go with those to the same department':
    '计划中原因和变更字段相同的行很少，或同类的行很少调入该部门',
  'Of a plan that is decided in parts; null: not decided': '计划分部分审批时有；null 表示尚未审批',
  'The run that sends an approved row': '发送已批准的行的任务',
  'What came of sending it; null: it was not sent': '发送结果；null 表示没有发送',
  'The later run that dealt with it: HR had changed it by then, or it had been rejected; null: none did in the last 30 days':
    '后来处理它的任务：当时人事数据又有变更，或此前已被驳回；null 表示最近 30 天内没有',
  'null: it was rejected, and the platform was found to have all of it already':
    'null 表示已被驳回，但查得平台上已全部是该数据',
  'Why HR cannot be read: then values are missing': '无法读取人事系统的原因：此时缺少字段值',
  'Whether the platform was asked for the values that it has now': '是否查询了平台现有的值',
  'Why values of the platform are missing. With not_asked: the calls were not made':
    '缺少平台的值的原因；与 not_asked 一起出现时，表示没有发出调用',
  'With a filter: how many rows match, as `matching` of the plan says. Where others do, none is decided':
    '有筛选条件时：符合条件的行数，即计划的 `matching`；数量不符时，不审批任何行',
  'How many rows are undecided: `undecided` of the plan, or `planned` where that is null. Where there are others, none is decided':
    '尚未审批的行数：计划的 `undecided`，为 null 时即 `planned`；数量不符时，不审批任何行',
  'Without a filter: these, as user id or department code, or enterprise/user id':
    '没有筛选条件时：仅限这些，员工 ID 或部门编码，或“企业编码/员工 ID”',
  'The held run': '待审批的任务',
  'The held run in whose plan is undecided again what was not sent; null: there is no such run':
    '尚未发送的内容回到哪个待审批任务的计划里重新等待决定；null：没有这样的任务',
  'The run that sends the part': '发送该部分的任务',
  'Whether other parts of the plan were decided before': '此前是否已审批过计划的其他部分',
  'The last `id` that the stream has sent': '事件流最近发送的 `id`',
  'Its place; later events have greater ones': '事件的位置；后来的事件更大',
  '`run.` and the state that the run reached, or `case.` and what happened, such as `case.opened`':
    '`run.` 加同步任务达到的状态，或 `case.` 加所发生的事，例如 `case.opened`',
  'Of `run.…`': '仅 `run.…` 事件有',
  'The state that it reached': '达到的状态',
  'Of `case.…`': '仅 `case.…` 事件有',
  'As it is when the event is sent': '发送事件时的状态',
  // cases
  'Names, and masked values': '字段名和脱敏后的值',
  'Send it back with a decision: if the case has changed since, the decision is refused':
    '处理异常项时一并传回：若此后有变化，则拒绝执行',
  'The same for all who want each other’s number': '互相需要对方号码的异常项，此值相同',
  'Who takes care of it; null: no one': '负责人；null 表示未指派',
  'How many match, up to 10,000': '符合条件的数量，最多计到 10,000',
  'true: more than `count` match': 'true 表示符合条件的多于 `count`',
  'Without filters and cases: whether all has arrived, or what keeps it: HR was never read, …; else null':
    '没有筛选条件也没有异常项时：是否已全部送达，或未送达的原因，例如从未读取人事数据；否则为 null',
  'Whether others see it, too': '其他人是否也能看到',
  'Whether others see it, too, which needs the role reviewer': '其他人是否也能看到，需要角色 reviewer',
  'Filter, order and columns, as GET /cases takes them': '筛选、排序和列，格式与 GET /cases 相同',
  'Saving under a name of one’s own replaces that view': '与自己已有的视图同名时，替换该视图',
  'Beside the key; none: the usual ones': '除键之外的列；不选则为默认的列',
  'Rows close to each other': '使用紧凑的行距',
  'What a browser returns to': '浏览器返回的页面',
  'Cases that are neither resolved nor ignored': '既未解决也未忽略的异常项',
  'They need a person: open or blocked': '需要人工处理的：待处理或受阻',
  'dirsync tries again by itself': '由 dirsync 自动重试的',
  'How often all of them have failed': '合计失败次数',
  'The first failure of the oldest': '其中最早一次首次失败的时间',
  'The last failure of any': '其中最近一次失败的时间',
  'Oldest first': '最早的在前',
  'The latest, newest first': '最近的记录，最新的在前',
  'How often each operation of the platform was called': '各平台接口的调用次数',
  'The other cases of the swap': '互换号码的其他异常项',
  'Other unresolved cases of the same employee or department': '同一员工或部门的其他未解决异常项',
  'The last step, if it can be taken back, and until when': '可以撤销的最近一步，以及撤销的截止时间',
  'The holder has changed since the case failed last: the value may be free':
    '该异常项最近一次失败后占用者已变更，该值可能已可用',
  'Who has to change first': '需先变更的员工',
  'null: no run has seen them': 'null 表示没有同步任务见过此人',
  'The platform has other data of them, or has them no longer, since the case failed last: the value may be free':
    '该异常项最近一次失败之后，平台上此人的数据已变更或已无此人：该值可能已释放',
  'Their cases that are neither resolved nor ignored': '其既未解决也未忽略的异常项',
  'The held run that a retry waits for, as its plan has another HR row of the employee, or as none is deleted before it':
    '重试所等待的待审批任务：其计划中有该员工的另一份人事数据，或审批之前不删除任何部门',
  'The cron job retry-due, which retries cases that are due, is paused or off':
    '重试到期异常项的定时任务 retry-due 已暂停或关闭',
  'The requested run that will retry it': '将重试该异常项的、已请求的同步任务',
  'The version of the case that the caller saw; if the case has changed since, the request is refused':
    '调用者所见的异常项版本；若此后有变化，则拒绝执行',
  'The run that tries it': '执行重试的同步任务',
  'How the person to whom it is assigned is told; no_way: not at all, as no address or no channel is known; no_need: no one, or the caller':
    '如何通知负责人；no_way 表示无法通知，因为没有已知的地址或渠道；no_need 表示无需通知，因为未指派或就是调用者本人',
  'The cases with these numbers, or all that match the filter; absent: whatever is given':
    '指定编号的异常项，或符合筛选条件的全部；不给出则按所给的内容判断',
  'As GET /cases takes it; empty: all unresolved cases': '格式与 GET /cases 相同；为空表示所有未解决的异常项',
  'For ignore; may be given for snooze': '忽略时必填；暂缓时选填',
  'For comment': '用于备注',
  'Start or discard it within a day': '一天内可用它开始或放弃',
  'How many runs a retry makes': '重试会启动多少个同步任务',
  'null: the cases were ticked one by one': 'null 表示异常项是逐个勾选的',
  'true: more cases matched than one action can take; the rest is left out':
    'true 表示符合条件的异常项超过一次操作的上限，其余未包括',
  'Cases by category, when the preview was made': '预览时的异常项，按类别',
  'Cases by state, when the preview was made': '预览时的异常项，按状态',
  'Of an `undo`: the action that it takes back': '`undo`：所撤销的操作',
  'The action that takes it back': '撤销它的操作',
  'Whether that action was stopped before it had reached all cases': '该操作是否在处理完全部异常项之前被停止',
  'Until when it can be taken back; null: it cannot': '撤销的截止时间；null 表示不能撤销',
  'How many of them could be acted on when the preview was made': '预览时其中可以执行的数量',
  'null: its turn has not come': 'null 表示尚未轮到',
  'Why it was not done: changed since the preview, resolved or ignored, not kept any more, an error':
    '未执行的原因：预览之后有变化、已解决或已忽略、不再保存，或出错',
  'changed: who changed it, how and when; error: the error': 'changed 时为何人何时如何更改；error 时为错误',
  'null, as what follows: the case is not kept any more': '此项及以下各项为 null 时，表示该异常项不再保存',
  // employees
  'The beginning of a user id, a name, a work number, a mobile number or an e-mail address, the last four to eight digits of a mobile number, or a whole open id':
    '员工 ID、姓名、工号、手机号或邮箱的开头，手机号的后四至八位，或完整的 open id',
  'By status; those in sync, which are nearly all, are in no list':
    '按状态；绝大多数员工为已同步，不在任何列表中',
  'Code of the department that the platform last showed': '平台最近显示的部门的代码',
  'Of this enterprise, which may be that of the department': '该企业的；也可以是该部门所属的企业',
  'Employees by status; with `enterprise` and no department, its own':
    '按状态的员工数；仅给出 `enterprise` 时为该企业的员工数',
  'halted: waiting, while work stands still; no_source: in service, but no HR source has the enterprise; unknown: a case names them, and no run has seen them':
    'halted 表示待发送，但同步已停止；no_source 表示在职，但没有该企业的人事数据源；unknown 表示有异常项提到，但没有同步任务见过',
  'When the platform last confirmed anything': '平台最近一次确认任何内容的时间',
  'With those of the enterprise about withheld fields; at most 100 are counted':
    '包括所属企业关于停发字段的异常项；最多计到 100',
  'The HR sources that `hr` is about, if there are several: the others were searched':
    '有多个人事数据源时，`hr` 所说的数据源；其余的已搜索',
  'Only of this enterprise: the HR source of another one need not answer':
    '仅该企业的员工：其他企业的人事数据源无需响应',
  'away: HR did not answer in time; busy: too many are searching it; failed: it cannot be searched, `hr_failure` says why; not_asked: found without it; viewers have it asked for departments alone':
    'away 表示人事系统未及时响应；busy 表示同时搜索的人过多；failed 表示无法搜索，原因见 `hr_failure`；not_asked 表示未查询人事系统即已找到；查看者只能在其中搜索部门',
  'Of which there are more than the first 20': '结果多于所列前 20 条的类别',
  'Why HR cannot be searched': '无法在人事系统中搜索的原因',
  'The name, or the beginning of one of its words': '姓名，或其中一个词的开头',
  'Of a page: the address of the list that is filtered': '用于页面：所筛选列表的地址',
  'User ids, or enterprise/user id, as the filter `keys` takes them':
    '员工 ID，或“企业编码/员工 ID”，格式与筛选条件 `keys` 相同',
  'no: HR is not read': 'no 表示不读取人事数据',
  'A run of this employee, whose steps are of interest': '要查看其步骤的同步任务，须涉及该员工',
  'User id, or enterprise/userid, with `~1` for a slash and `~0` for a tilde':
    '员工 ID，或“企业编码/员工 ID”；其中斜杠写作 `~1`，波浪号写作 `~0`',
  'What dirsync keeps; null when no run has seen the employee':
    'dirsync 保存的内容；没有同步任务见过该员工时为 null',
  'The run with the HR row that waits for a decision, or was rejected':
    '含有待审批或已驳回的人事数据的同步任务',
  'Approved, and the scheduler has yet to send it': '已批准，调度进程尚未发送',
  'false: no HR source has the enterprise, so that approval leaves them out':
    'false 表示没有任何人事数据源包含其企业，批准时会略过',
  'false: it waits for a decision, or for a plan after one': 'false 表示等待审批，或审批后等待新的计划',
  'That row says that the employee has left, or HR has none; null: it has the employee in service':
    '该人事数据表明员工已离职，或人事系统中已不存在；null 表示其中员工在职',
  'Those of the employee, and of the enterprise about a withheld field; open ones first':
    '该员工的，以及所属企业关于停发字段的异常项；未解决的在前',
  'The latest, newest first; only where payment orders are mirrored':
    '最近的记录，最新的在前；仅在镜像支付订单时有',
  'The database was restored since the platform confirmed a row: a full run asks about them':
    '平台确认之后数据库曾被恢复：由全量同步重新查询该员工',
  'From a backup, and not asked for since': '来自备份，此后尚未重新查询',
  'Since when the platform no longer has it': '自何时起平台上已不存在',
  'Whether the mirror has its payment order': '镜像中是否有其支付订单',
  'Whether the mirror has any payment order of its order': '镜像中是否有该订单的任何支付订单',
  'Checks of the order record that were before those among the events': '早于所列事件的订单记录核对次数',
  'Refunds of which the platform notified within a day and that dirsync does not know: up to ten numbers, the latest first':
    '最近一天内 dirsync 没有记录的退款；最多列出十个单号，最近的在前',
  'Refunds that the platform has notified of with another order or amount than was sent: those of open outcome, and for a day those that no person has settled since':
    '平台通知的订单或金额与所发送的不一致的退款：结果未知的，以及一天内未经人工确认的',
  'Since when the platform has notified of it with another order or amount than was sent':
    '自何时起平台的通知与所发送的订单或金额不一致',
  'false: no work is handed to the workers': 'false 表示不再向工作进程分派工作',
  'Why work stands still': '停止的原因',
  'unknown: no run has seen the employee': 'unknown 表示没有同步任务见过该员工',
  'unknown: HR could not be asked, see hr_error': 'unknown 表示无法读取人事系统，见 hr_error',
  'Whether HR’s row, as it is now, is the one that the platform confirmed last; null: HR was not read':
    '人事系统中现在的数据是否就是平台最近一次确认的数据；null 表示未读取人事系统',
  'With not_asked: the call was not made': '与 not_asked 一起出现时，表示没有发出调用',
  'HR against the platform; values are masked': '人事系统与平台的对比；值已脱敏',
  'false: not asked, or the platform does not tell this field': 'false 表示未查询平台，或平台不提供该字段',
  'What the last attempt came to, or what waits since': '最近一次处理的结果，或此后等待处理的内容',
  'The run that was asked about, and how far it has come with this employee':
    '所查询的同步任务，以及它对该员工的进展',
  '`all`: every field, for admins': '`all` 表示全部字段，仅限管理员',
  'Of the field; null with `all`': '该字段的值；使用 `all` 时为 null',
  'By field': '按字段',
  // departments
  'Code of the department whose level is shown; absent: the top':
    '显示该部门的下级部门（代码）；不给出则为顶层',
  'Absent: the enterprise of the deployment, or else the first that has departments':
    '不给出则为本部署的企业，没有时为第一个有部门的企业',
  'false: without a mapping of departments, none are ever deleted':
    'false 表示没有部门的字段映射，因此从不删除部门',
  'Whether runs read the departments of this enterprise': '是否有同步任务读取该企业的部门',
  'The path from the top to the department whose level is shown, including it':
    '从顶层到所显示层级的部门的路径，含该部门',
  'false: HR has closed it': 'false 表示人事系统已撤销',
  'Since when it has been missing from HR': '自何时起人事系统中已不存在',
  'When it was deleted on the platform': '在平台上删除的时间',
  'Employees that the platform last listed in it; 1001: more than 1000':
    '平台最近列在其中的员工；1001 表示多于 1000',
  'At the top: departments that are closed or missing and not deleted yet, at most 50, the next to be deleted first and last those that something keeps':
    '在顶层：已撤销或已不存在、尚未删除的部门，最多 50 个，最先删除的在前，因故保留的在后',
  'At the top: enterprises of which none is deleted now, as their employees may not be right, or HR delivers no department of them':
    '在顶层：目前不删除任何部门的企业，因为其员工数据可能不正确，或人事系统未提供其任何部门',
  'An employee of its enterprise of whom the platform has not told in which department they are; none is deleted before it has':
    '其企业中平台尚未告知所在部门的一名员工；告知之前不删除任何部门',
  'The case of a deletion that the platform refused, also an ignored one':
    '平台拒绝删除而产生的异常项，包括已忽略的',
  'Whether its deletion waits to be sent': '其删除是否正在等待发送',
  'With is_deleting: the run whose work it is; null: of none, as in a halt, for which no run waits':
    '与 is_deleting 一起出现时：该删除所属的同步任务；null：不属于任何任务，例如同步停止时，任务不等待它',
  'What holds its deletion back: that a person has paused all calls, or a halt of its work':
    '其删除受阻的原因：有人暂停了全部调用，或同步已停止',
  'How many of these deletions an earlier run has waiting to be sent already':
    '其中有多少个已由之前的同步任务等待发送',
  'The held run whose plan deletes it, which waits for a decision': '计划中含有删除该部门的待审批任务',
  'The run with which a person rejected its deletion: none deletes it until HR changes it':
    '其中删除该部门的计划被人驳回的同步任务：人事系统再次变更之前不会删除',
  'An employee whom an update without an answer may have moved to it; it is not deleted before that is known':
    '可能已被某次未得到响应的更新移入该部门的员工；查明之前不会删除该部门',
  'Child departments that are not deleted; 1001: more than 1000': '尚未删除的下级部门；1001 表示多于 1000',
  'Of a closed or missing one: whether one below it, at any depth, is not due, and keeps it':
    '已撤销或缺失的部门：是否有任意层级的下级部门尚不能删除，使其保留',
  'Since when it has been closed or missing in HR': '人事系统自何时起撤销或缺失该部门',
  'Of a closed or missing one: from then on a run deletes it, once it has no employees in HR or on the platform and nothing below it stays, unless a case, a decision or the doubts about its enterprise keep it; null: no run reads those of its enterprise':
    '已撤销或已不存在的部门：自此时起，一旦人事系统和平台中均没有员工，且没有下级部门保留，即由同步任务删除，除非有异常项、审批结果或对其企业数据的疑问阻止；null 表示没有同步任务读取该企业的部门',
  'Departments that are not deleted yet': '尚未删除的部门',
  'How many would be deleted': '将删除的数量',
  'Whether the run would be held': '该任务是否会转为待审批',
  'Runs that are held with such deletions already, so that a further one does nothing':
    '已含此类删除并在待审批的同步任务，因此再启动新任务不会有任何操作',
  'At most 200 of them, in the order of deletion': '其中最多 200 个，按删除顺序',
  'Deletion order, from 0: a department is deleted after those below it':
    '删除顺序，从 0 开始：先删除下级部门',
  'HR sources that are left out, and why: they cannot be read, or their employees look wrong':
    '未包括的人事数据源及原因：无法读取，或其员工数据可疑',
  // platform
  'Living processes that make calls for runs': '为同步任务执行调用的存活进程',
  'Over the last ten seconds': '最近十秒内',
  'null: no worker is running, or the rate has not been learnt yet':
    'null 表示没有存活的工作进程，或速率尚未得知',
  'PLATFORM_RATE_LIMIT; null: to be learnt': 'PLATFORM_RATE_LIMIT；null 表示自行探测',
  'The rate was learnt, or lowered since the platform refused calls':
    '速率是探测得出的，或平台拒绝调用之后已降低',
  'The rate at which the platform last refused calls': '平台最近一次拒绝调用时的速率',
  '0 to 1': '0 到 1',
  'Calls that wait for the pacer': '等待调速器的调用',
  'As many calls are in flight as the workers make at a time': '进行中的调用数已达工作进程同时发起的上限',
  'A lower rate that a person has set for a time': '人工设置的临时限速',
  'Calls of the last hour by operation, the most called first': '最近一小时的调用，按接口，调用最多的在前',
  'Refused as too fast; they are repeated': '因过快被拒绝的调用；会重新发送',
  'For the pacer': '等待调速器的时长',
  'From the request to the answer': '从请求到响应',
  'The access token; null: the next call creates one': '访问令牌；null 表示下次调用时创建',
  'After 80 % of its life': '有效期过去 80% 时',
  "Against dirsync's fuse; the platform permits 60 within an hour":
    '计入 dirsync 的令牌创建上限；平台允许每小时 60 个',
  'The platform asked for it; `platform`: of all calls': '平台要求的等待；`platform` 表示全部调用',
  'Calls per second, of all processes together': '每秒调用次数，所有进程合计',
  'Of the pause that the caller saw; for forms': '调用者所见暂停的版本；供表单使用',
  'Of the lower rate that the caller saw; for forms': '调用者所见限速的版本；供表单使用',
  'false: the rate was not lowered': 'false 表示并未限速',
  'null: the platform was not asked, or did not answer': 'null 表示未询问平台，或平台没有响应',
  'Seconds, as the platform says': '平台给出的秒数',
  // schedules
  'This job alone': '仅限该定时任务',
  'Cron expression; six fields begin with seconds': 'Cron 表达式；有六个字段时，第一个为秒',
  'In which the scheduler reads the expression; null: an older version runs it':
    '调度进程解释表达式所用的时区；null 表示由旧版本执行',
  'The expression in plain words': '表达式的文字说明',
  'Switched off: by its setting, or as MIRRORS does not list its mirror':
    '未开启：由设置关闭，或 MIRRORS 未列出对应的镜像',
  'It did not run when it was due: no scheduler': '到时未执行：没有调度进程',
  'What pausing means: nothing; employees stay out of sync; no schedule sends what HR changes, as the other one that would is paused or off; it is not permitted':
    '暂停的影响：没有影响；员工不再同步；另一个发送人事变更的任务也已暂停或关闭，因此没有定时任务发送变更；不允许暂停',
  'Asked to run at once, and not begun yet': '已要求立即执行，尚未开始',
  'The latest ten, the latest first': '最近十次触发，最近的在前',
  'When it began': '开始的时间',
  'null: it goes on. Where its process died, another one begins it again within seconds, twice at most':
    'null 表示正在执行。若其进程已终止，另一个进程会在数秒内重新执行，至多两次',
  'Why it was left out: the job was paused or off, or its schedule has changed; null: it ran':
    '跳过的原因：定时任务已暂停或关闭，或其执行时间已更改；null 表示已执行',
  'Who asked for it outside the schedule; null: it was due':
    '在定时计划之外要求执行的人；null 表示按计划触发',
  'It came late, because no scheduler was running when it was due': '因到时没有运行中的调度进程而延迟执行',
  'The runs that it requested, or found under way, of which each source of HR has its own; without pruned ones':
    '由其发起或当时已在进行的同步任务，每个人事数据源各一个；不含已清理的',
  'false: no cron job runs': 'false 表示定时任务均不执行',
  'Unchanged if an earlier request still waits for a scheduler': '先前的要求仍在等待调度进程时，保持不变',
  'The effect on the directory; null: none': '对员工目录的影响；null 表示没有',
  'false: it was not paused': 'false 表示并未暂停',
  // mapping
  'Name of one of several HR sources; absent: the first one': '多个人事数据源中的一个；不给出则为第一个',
  'The HR source that it reads; empty where there is only one': '所读取的人事数据源；只有一个时为空',
  'The enterprises of the source; null: all': '该数据源的企业；null 表示全部',
  'null: the file cannot be read, see error': 'null 表示无法读取文件，见 error',
  'Why HR or a file cannot be read, or what is wrong with the mapping':
    '无法读取人事系统或文件的原因，或字段映射的错误',
  'When a plan that passed first used this mapping; null: none has, or see error':
    '已通过的计划首次使用该映射的时间；null 表示尚未使用，或见 error',
  'A field of employees, or enterprise_code, userid, active, updated_at':
    '员工的字段，或 enterprise_code、userid、active、updated_at',
  'Its name in the SELECT': '在 SELECT 中的名称',
  'Share of empty values among employees in service, in the last good run, 0 to 1':
    '上次成功的同步任务中，在职员工的空值占比，0 到 1',
  'Open cases of rows that break a rule in this column': '因该列不合规则而未解决的异常项',
  'Fields that are never touched on the platform': '从不改动的平台字段',
  'Rows of the last good run that read all of them': '上次成功并读取了全部数据的同步任务中的行数',
  'Values are masked': '值已脱敏',
  'The current phase while it runs': '执行中所处的阶段',
  'So far: every row is read twice with the SELECT and once with today’s mapping':
    '截至目前：每行用该 SELECT 读取两次，用当前映射读取一次',
  'failed: why': 'failed 的原因',
  'One SELECT of employees, as HR_EMPLOYEES_SQL holds one; read-only, in HR’s database':
    '一条员工 SELECT，与 HR_EMPLOYEES_SQL 中的形式相同；在人事数据库中以只读方式执行',
  'Only employees with this difference': '仅限有此类差异的员工',
  'The line of the error in the SELECT, from 1': '错误在 SELECT 中的行号，从 1 开始',
  'The state that a run with it would reach': '采用该 SELECT 的同步任务将达到的状态',
  'What it would plan, by reason': '将列入计划的数量，按原因',
  'Employees by kind of difference': '员工数，按差异的种类',
  'Employees by field that changes': '员工数，按变更的字段',
  'Employees by column that breaks a rule': '员工数，按不合规则的列',
  'Share of empty values per column among employees in service, 0 to 1': '各列在在职员工中的空值占比，0 到 1',
  'Employees whose differences are stored': '已保存差异的员工',
  'The file of the mapping in use; null: it cannot be read': '当前映射的文件；null 表示无法读取',
  'false: no HR source has the enterprise': 'false 表示没有该企业的人事数据源',
  'Other HR sources that have this file as their mapping': '以该文件为映射的其他人事数据源',
  'true: the file holds this SELECT already': 'true 表示文件中已是该 SELECT',
  // money
  'Good tokens that they added, or that were added with these':
    '该用户添加的有效令牌，以及用这些令牌添加的令牌',
  'Names of good tokens that they added: these stay good': '该用户添加的有效令牌的名称：这些令牌仍然有效',
  'When the database was seen, within 30 days, to be restored or taken over by a replica: what was disabled or revoked between the backup and then may be good again':
    '30 天内发现数据库曾从备份恢复或由副本接管的时间：备份之后、此时间之前停用的用户和吊销的令牌可能重新有效',
  'When the database was seen, within 30 days, to be restored: what was sent between the backup and then may be missing':
    '30 天内发现数据库曾从备份恢复或由副本接管的时间：备份之后、此时间之前发送的内容可能没有记录',
  'Recorded as not carried out and turned out within seven days to be carried out, or perhaps; the latest one, its order or account, and whether the platform said so (`carried_out`) or more of the order is shown refunded than dirsync’s other refunds make (`perhaps`); and those recorded as carried out that the platform then refused (`refused`)':
    '曾认定为未执行、但最近七天内发现已执行或可能已执行的；最近一笔、其订单或账户，以及是平台已表明（`carried_out`），还是订单显示的退款多于 dirsync 其他退款之和（`perhaps`）；以及曾认定为已执行、但平台实际已拒绝的（`refused`）',
  'By state; 1001 stands for more than 1000': '按状态；1001 表示多于 1000',
  'When its outcome became known': '得知结果的时间',
  'What is known about the outcome': '关于结果的已知情况',
  'What the order record showed before; null: what was refunded is not known for certain':
    '此前订单记录显示的已退金额；null 表示无法确定',
  'When the platform said that it was carried out, although it was called rejected; of a rejected one: when more of its order was shown refunded than dirsync’s other refunds make, or the platform refused it, although it was called accepted':
    '曾认定为未执行，而平台表明其已执行的时间；对于未执行的：其订单显示的退款多于 dirsync 其他退款之和的时间，或曾认定为已执行、而平台答复已拒绝的时间',
  'When the order record, or the mirror, was first seen to show this accepted refund':
    '订单记录或镜像首次显示这笔已受理退款的时间',
  'Those whose sender has hung for more than five minutes: each may have been carried out':
    '发送进程已超过五分钟无响应的数量：均可能已执行',
  'Refunds that the platform accepted, of which neither a notification, nor the order record, nor the mirror has shown that they are completed; those sent more than a day ago, the latest of these, its order, and when it was sent':
    '平台已受理、但通知、订单记录和镜像均未表明已完成的退款；其中发送超过一天的数量、最近一笔及其订单和发送时间',
  'Only refunds that were accepted more than a day ago, and that nothing shows as completed':
    '仅列出受理超过一天、且没有任何信息表明已完成的退款',
  'How often the order record was asked about it': '就此查询订单记录的次数',
  'What the order was paid with, as far as the mirror knows; null: it does not, or with several':
    '镜像所知的订单支付方式；null 表示不知道，或有多种',
  'null: dirsync or the platform': 'null 表示 dirsync 或平台',
  'The outcome, what a check found, or a person’s reason': '结果、核对所得，或人员填写的原因',
  'How many checks in a row found the same; 1 for all else': '连续多少次核对结果相同；其他情况为 1',
  'When the last of them was': '其中最后一次的时间',
  'For an unknown outcome: whether dirsync asks again, when calls are no longer paused (`held`), or a person has to find out':
    '结果未知时：由 dirsync 再次查询（`held` 表示在恢复调用之后），还是需要人工查明',
  'accepted: it was carried out; rejected: it was not': 'accepted 表示已执行，rejected 表示未执行',
  'How you know; kept in the audit': '判断的依据；记入审计',
  // mirrors
  'Read by its schedule: MIRRORS lists it, and its schedule is not off; false until a scheduler has run':
    '按定时计划读取：MIRRORS 已列出该镜像，且其定时计划未关闭；调度进程尚未运行过时为 false',
  'null: it is off': 'null：未开启',
  'true: more than these were found by `q`; give more of it':
    'true：按 `q` 找到的不止这些；请输入更完整的内容',
  'Only those of this one of several HR sources; absent: all': '仅限多个人事数据源中的这一个；省略则为全部',
  'Cron jobs that a person has paused, and without which employees stay out of sync':
    '由人员暂停、且暂停后员工数据无法保持同步的定时任务',
  'The latest run that has ended': '最近结束的任务',
  'How many parts it has to read': '需要读取多少部分',
  'How many of them are still to be read': '其中尚未读取的数量',
  'The run that waits or is under way': '等待中或进行中的任务',
  'Since when its schedule has been paused': '自何时起其定时任务已暂停',
  'User id': '员工 ID',
  'The beginning of a payment order number, or a whole order number of the merchant':
    '支付订单号的开头，或完整的商户订单号',
  'First day, in GMT+8': '第一天，按 GMT+8',
  'Last day, in GMT+8': '最后一天，按 GMT+8',
  'Include rows that the platform no longer lists, or is no longer asked for':
    '包括平台不再列出或不再向平台查询的',
  'At most 200': '最多 200 个',
  'The beginning of an identification number': '识别号的开头',
  // halts
  'Its last sign of life': '最近心跳',
  'false: it died without a word within the last day; the latest 20 are listed':
    'false 表示在最近一天内意外终止；只列出最近的 20 个',
  'Another process was started later with other HR sources: this one leaves alone those that differ':
    '此后启动的另一进程使用不同的人事数据源：该进程不处理有差异的数据源',
  'Why it leaves all work to others: the platform refuses its application secret, or cannot be reached from it; null: it does not':
    '该进程将全部工作交由其他进程完成的原因：平台拒绝其应用密钥，或该进程无法连接平台；null 表示正常工作',
  'null: it makes no calls for runs': 'null 表示不为同步任务执行调用',
  'Calls that it makes at a time, at most': '同时执行的最大调用数',
  'Roles that the work needs and that no running process has': '待发送内容需要、但没有运行中进程承担的角色',
  'How running processes do not fit together': '正在运行的进程之间有哪些不一致',
  'Versions of the running processes; more than one during an upgrade':
    '运行中进程的版本；升级期间可能不止一个',
  'Scope of the halt; `-`: the enterprise without a code': '停止的范围；`-` 表示没有编码的企业',
  // audit
  'Part of the name of who asked; case-insensitive': '发起人名称的一部分；不区分大小写',
  'Name of a command, such as `approve`': '命令的名称，例如 `approve`',
  'The same as `to`': '同 `to`',
  'Null: the machine of the database': 'null 表示数据库所在的机器',
  // access
  'How they sign in; key: with one-time keys, or with a one-time link until they choose a password':
    '登录方式；key 表示使用一次性密钥，或在设置密码之前使用一次性链接',
  'What they may do; each role may what those before it may': '权限；每个角色都包含前面各角色的权限',
  'Since when they may not sign in': '自何时起不能登录',
  'Until when the next sign-in at the identity provider with this name becomes this user':
    '在此之前，下一次以该用户名通过身份认证服务登录者即成为该用户',
  'Since when the identity provider has given them no role; `role` is the last that it gave':
    '自何时起身份认证服务未授予角色；`role` 为其最后一次授予的角色',
  'Why they cannot sign in: they are disabled, their identity provider is not set here, or it gave no role, or they have no password and no link that is still good; null: they can':
    '不能登录的原因：已停用、此处未设置其身份认证服务、该服务未授予角色，或无密码且没有有效的链接；null 表示可以登录',
  'Where they are told of their cases': '异常项通知发往的邮箱',
  'Whom a chat mentions to tell them, without a mail address: channel and id, as `ops:zhang`':
    '没有邮箱地址时，在哪个群中提醒谁：渠道和 ID，例如 `ops:zhang`',
  'Sessions that have not ended': '尚未结束的会话',
  'The latest one-time link, or key of `local`; null: none was made':
    '最近的一次性链接，对 `local` 则为一次性密钥；null 表示没有生成过',
  'When it ends, or has ended': '失效的时间',
  'Letters, digits and . _ @ + -, at most 100': '字母、数字和 . _ @ + -，最多 100 个',
  '12 to 256 characters; absent: a one-time link': '12 到 256 个字符；不给出则生成一次性链接',
  'The one-time link, good for 72 hours; null: there is a password':
    '一次性链接，72 小时内有效；null 表示已设置密码',
  'Mail address; null: none': '邮箱地址；null 表示没有',
  'A channel for a chat and their id there, as `ops:zhang`; null: none':
    '群消息的渠道和该用户在其中的 ID，例如 `ops:zhang`；null 表示没有',
  '12 to 256 characters': '12 到 256 个字符',
  'The one-time link, good for 72 hours': '一次性链接，72 小时内有效',
  'What the token is limited to, beside its role; null: to nothing':
    '除角色之外，令牌的使用范围；null 表示不限',
  'To the minute': '精确到分钟',
  'What it is for; letters, digits and . _ -, at most 64': '用途；字母、数字和 . _ -，最多 64 个',
  'When it ends: a time such as 90d, or a moment (ISO 8601)': '到期时间：时长（例如 90d）或时刻（ISO 8601）',
  'What it is limited to; absent: to nothing but its role': '使用范围；不给出则只受角色限制',
  'How they signed in; key: with a one-time key, as `local`, or with a one-time link':
    '登录方式；key 表示以 `local` 身份使用一次性密钥，或使用一次性链接',
  'The browser, as it calls itself': '浏览器自报的名称',
  'false: it had ended already': 'false 表示此前已结束',
  'null: people sign in with passwords only': 'null 表示只能用密码登录',
  'The claim that gives the role': '决定角色的声明（claim）',
  'The role by value of the claim': '声明的值所对应的角色',
  'Lines for settings.env: the mapping as it is, or examples of what is not set':
    '写入 settings.env 的行：现有的对应关系，或未设置项的示例',
  // settings
  'A part of the name, meaning or value': '名称、含义或值的一部分',
  'Its value is never shown; `is_set` says whether there is one': '从不显示值；`is_set` 表示是否已设置',
  'As text; an address without its password and parameters': '文本形式；地址不含密码和参数',
  'The value that applies if it is not set; null: none': '未设置时采用的值；null 表示没有',
  'The file, if the value comes from one (NAME_FILE)': '值来自文件（NAME_FILE）时，该文件',
  'For settings.env: the value as it is, or an example of one that is not set or is secret':
    '写入 settings.env 的行：实际的值；未设置或属于密钥时为示例',
  'null: not run yet': 'null 表示尚未检查',
  'false: stopped after 30 s': 'false 表示 30 秒后中止',
  'warning: it works, but needs attention': 'warning 表示可以工作，但需要留意',
  // account
  'How you sign in': '您的登录方式',
  'The session of this request, one of `sessions`': '本次请求的会话，`sessions` 之一',
  'Where you are signed in, the latest first': '已登录的位置，最近的在前',
  'Your present password; not needed after signing in with a link': '您当前的密码；用链接登录后无需填写',
  'The same once more': '再次输入新密码',
}
