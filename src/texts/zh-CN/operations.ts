/** What the operations of the API do, in Chinese, by their English summary in the routes. */
export const operationSummaries: Readonly<Record<string, string>> = {
  'Who may use the console: roles, how they sign in, their last sign-in':
    '谁可以使用控制台：角色、登录方式、最近登录',
  'One user': '一个用户',
  'Add a user who signs in with this password, or first with a one-time link':
    '添加用户：用此密码登录，或先用一次性链接登录',
  'Give a user another role, which applies from their next request': '更改用户的角色，自其下一次请求起生效',
  'Say where a user is told that a case is assigned to them or a comment names them':
    '设置异常项指派给用户或评论提到用户时的通知方式',
  'Keep a user from signing in, and end their sessions; tokens that they added stay good':
    '禁止用户登录，并结束其会话；其添加的令牌仍然有效',
  'Let a disabled user sign in again': '允许已停用的用户再次登录',
  'Give a user another password, and end their sessions': '更改用户的密码，并结束其会话',
  'Make a link that signs a user in once; it voids those before it':
    '生成用户的一次性登录链接，此前的链接随即失效',
  'End all sessions of a user, and the unused one-time keys of `local`':
    '结束用户的全部会话，对 `local` 还会作废尚未使用的一次性密钥',
  'Tokens of the API, the newest first: role, scopes, expiry, last use':
    'API 令牌，最新的在前：角色、范围、到期时间、最近使用',
  'Add a token; only this answer holds it': '添加令牌；令牌只在本次响应中给出',
  'Make a token worthless at once': '立即吊销令牌',
  'Who is signed in, since when, from where and with which browser; the latest first':
    '已登录的用户：登录时间、来源和浏览器，最近的在前',
  'End a session': '结束一个会话',
  'Which value of which claim of the identity provider gives which role':
    '身份提供方的哪项声明的哪个值对应哪个角色',
  'Your user, and where you are signed in': '您的用户，以及已登录的位置',
  'Change your password; it ends your other sessions': '更改您的密码，并结束您的其他会话',
  'End one of your sessions': '结束您的一个会话',
  'End all your sessions but this one': '结束您除当前会话外的全部会话',
  'Current alerts and who was told; channels, rules, mutes and quiet hours':
    '当前告警及已通知的对象；渠道、规则、静默和免打扰时段',
  'Alerts that have ended, the latest first': '已结束的告警，最近的在前',
  'A rule: when it raises an alert, what to do about it, and its alerts':
    '一条规则：何时告警、如何处理，以及它的告警',
  'Acknowledge an alert: no more reminders are sent until it is over, or a further refund or top-up comes to it':
    '认领告警：在其结束之前不再发送提醒，除非其中新增退款或充值',
  'Keep the alerts of a rule, or those about one subject, from all channels until a time within 30 days':
    '静默一条规则或其中一个对象的告警，至 30 天内的某个时间，所有渠道均不发送',
  'End the mute of a rule, or of one of its subjects, before its time': '提前结束规则或其中一个对象的静默',
  'Send only critical alerts in these hours of each day': '每天的这些时段只发送严重告警',
  'End quiet hours for good': '取消免打扰时段',
  'Send a test message to one of the channels of this process': '向该进程的一个渠道发送测试消息',
  'Who you are, and what you may do': '您是谁，以及您可以做什么',
  'Who asked for what, when, from where and why, the latest first':
    '谁在何时、从何处、因何请求了什么，最近的在前',
  'Everything that matches the filters, as CSV; meanings in the language of the caller':
    '符合筛选条件的全部记录，CSV 格式；含义使用调用者的语言',
  'Preview an action on many cases: which cases, and what would happen. Changes nothing':
    '预览批量操作：涉及哪些异常项，会发生什么。不做任何更改',
  'The latest actions on many cases, newest first': '最近的批量操作，最新的在前',
  'One action on many cases: its progress, and the outcome of each case, page by page':
    '一次批量操作：进度，以及每个异常项的结果，分页',
  'Start a previewed action; it runs in the background': '开始已预览的批量操作；在后台执行',
  'Stop an action after the cases in hand, or discard a preview': '处理完手头的异常项后停止操作，或放弃预览',
  'Take an action back in the background, up to ten minutes after it ended: of each case to which nothing happened since':
    '操作结束后十分钟内在后台撤销：仅限此后没有变化的异常项',
  'Cases by filters, page by page; without `states`, those that are neither resolved nor ignored':
    '按条件筛选异常项，分页；不给出 `states` 时，为既未解决也未忽略的异常项',
  'Saved views of the list of cases: one’s own, and those that others share':
    '异常项列表的已存视图：自己的，以及他人共享的',
  'Save filter, order and columns of the list of cases under a name; sharing it needs the role reviewer':
    '以一个名称保存异常项列表的筛选、排序和列；共享需要角色 reviewer',
  'Delete a view that one has saved; an admin deletes any shared one':
    '删除自己保存的视图；管理员可删除任何共享视图',
  'Choose the columns of one’s own list of cases, and how close its rows are':
    '选择自己的异常项列表的列和行距',
  'Unresolved cases by cause: category and code of the platform':
    '未解决的异常项，按原因分组：类别和平台错误码',
  'All cases that match the filters, as CSV; message and remedy in the language of the caller':
    '符合筛选条件的全部异常项，CSV 格式；消息和处理办法使用调用者的语言',
  'One case: what failed, what to do, what blocks it, and its history':
    '一个异常项：什么失败了、如何处理、被什么阻塞，以及历史',
  'Try a case again at once': '立即重试异常项',
  'Close a case as accepted; one about a row of HR reopens when HR changes the row':
    '忽略异常项；关于人事数据行的异常项，在该行变更后重新打开',
  'Let a case rest for a time': '暂缓异常项一段时间',
  'End the snooze of a case early, without trying it again': '提前结束异常项的暂缓，不重试',
  'Say who takes care of a case': '指派异常项的负责人',
  'Add a comment to the story of a case': '为异常项添加评论',
  'Take back the last ignore, snooze or assignment of a case, within ten minutes and if nothing happened since; then the one before it':
    '十分钟内且此后没有变化时，撤销异常项最近一次忽略、暂缓或指派；再次调用则撤销更早的一次',
  'One level of the department tree, and the departments about to be deleted':
    '部门树的一层，以及即将删除的部门',
  'What a run that deletes departments would do now. Reads HR, changes nothing':
    '删除部门的同步任务现在会做什么。读取人事数据，不做任何更改',
  'Starts a run that deletes the departments that HR closed': '发起同步任务，删除人事系统中已撤销的部门',
  'Employees by the beginning of their user id or name, by status, or by department':
    '按用户 ID 或姓名的开头、状态或部门列出员工',
  'The keys of the people whom HR has by a name, for the filter `keys` of cases and plans; the name goes nowhere else':
    '人事系统中某一姓名对应的人员键，用于异常项和计划的 `keys` 筛选；姓名不会用于别处',
  'One employee: HR field by field, how they stand step by step, cases, and stored data':
    '一名员工：逐字段的人事数据、处理步骤、异常项和已存数据',
  'Reads HR and asks the platform: what would be sent now, field by field. Changes nothing':
    '读取人事数据并查询平台：逐字段列出现在会发送什么。不做任何更改',
  'Starts a run for this employee': '为该员工发起同步任务',
  'One value of one employee as HR has it, unmasked; for admins the whole row. Recorded before it is read':
    '人事系统中一名员工某一字段的值，不脱敏；管理员可读整行。读取之前先记入审计',
  'What happens to runs and cases from now on, or after Last-Event-ID, as server-sent events':
    '自现在起或自 Last-Event-ID 之后，同步任务和异常项的动态，以 server-sent events 推送',
  'Why work is halted, and the processes of this deployment': '同步为何停止，以及该部署的进程',
  'Let one job through a halt now, to see whether work can go on': '现在放行一项工作，试探能否恢复',
  'The columns of the mapping: types, share of empty values, rule breaks; unmanaged fields':
    '映射的列：类型、空值比例、违反规则的值；未纳管的字段',
  'What the mapping gives for one employee, and the rules that the row breaks. Changes nothing':
    '映射对一名员工给出的结果，以及该行违反的规则。不做任何更改',
  'Dry runs of other SELECTs, the latest first': '其他 SELECT 的试算，最近的在前',
  'Finds out what a SELECT, or a run with the one in use, would change, without changing anything':
    '试算一个 SELECT 或当前映射的同步任务会更改什么，不做任何更改',
  'One dry run: progress, figures and, for operators, the employees for whom the SELECT makes a difference':
    '一次试算：进度、数字；运维员还可看到该 SELECT 会产生差异的员工',
  'Ends a dry run that is not over': '结束尚未完成的试算',
  'The status of each mirror: whether it is on, its last and next reading, and the outcome':
    '每个镜像的状态：是否开启、最近和下一次读取，以及结果',
  'All payment orders that match the filters, as CSV': '符合筛选条件的全部支付订单，CSV 格式',
  'All limit accounts that match the filters, as CSV; sub-accounts as JSON':
    '符合筛选条件的全部额度账户，CSV 格式；子账户为 JSON',
  'All taxpayers that match the filters, as CSV': '符合筛选条件的全部纳税主体，CSV 格式',
  'All refunds or top-ups that match the filters, as CSV; messages in the language of the caller':
    '符合筛选条件的全部退款或充值，CSV 格式；消息使用调用者的语言',
  'Payment orders as last read from the platform, the latest first':
    '最近一次从平台读取的支付订单，最新的在前',
  'Limit accounts with balances and sub-accounts, as last read from the platform':
    '最近一次从平台读取的额度账户，含余额和子账户',
  'Taxpayers as last read from the platform': '最近一次从平台读取的纳税主体',
  'Read a mirror again, or return the run that already waits to do so; works for mirrors that are off, too':
    '重新读取镜像，或返回已在等待的任务；未开启的镜像也可以',
  'Refunds or top-ups, those whose outcome is open first, and how many are in each state':
    '退款或充值，结果未定的在前，以及各状态的数量',
  'One refund: what was sent, what is known about its outcome, what happened and what comes next':
    '一笔退款：发送了什么、已知的结果、经过，以及接下来会发生什么',
  'One top-up: what was sent, what is known about its outcome, what happened and what comes next':
    '一笔充值：发送了什么、已知的结果、经过，以及接下来会发生什么',
  'Look up the outcome of a refund in its order record now; read-only, nothing is sent again':
    '立即从订单记录中查询退款结果；只读，不会重新发送',
  'Record the outcome of a refund whose outcome is unknown, or that nothing shows a day after it was accepted; nothing is sent':
    '登记结果未知、或受理一天后仍无信息表明已完成的退款的结果；不发送任何内容',
  'Record the outcome of a top-up whose outcome is unknown; nothing is sent':
    '登记结果未知的充值的结果；不发送任何内容',
  'Curves of the last 24 hours, 30 days, or between two moments within 36 days: share in sync, open cases, work, calls':
    '最近 24 小时、30 天或 36 天内两个时刻之间的曲线：已同步比例、异常项、待发送、调用',
  'The state of the whole deployment: employees by status, work, halts, held runs, cases, pace':
    '整个部署的状态：各状态员工数、待发送、停止、待审批任务、异常项、调用速率',
  'What is to be sent, piece by piece: what for, by which run, since when, and when it is tried next':
    '逐项列出待发送内容：用途、所属任务、等待时间、下次尝试',
  'The first steps of a deployment: what is done, what is missing, what failed and why':
    '部署的最初步骤：已完成、缺少、失败及原因',
  'Hide the first steps for good': '不再显示最初步骤',
  'Stop all calls of this deployment to the platform, until they are resumed':
    '暂停该部署对平台的全部调用，直到恢复',
  'Resume calls after a pause': '暂停之后恢复调用',
  'The stored plan of a held run: why it is held, figures, and its entities with masked differences':
    '待审批任务的已存计划：待审批原因、数字，以及各项脱敏差异',
  'The same plan as a file, complete or filtered': '同一计划的文件，全部或筛选后的',
  'The same page of the plan, with the values that the platform has now, masked. Changes nothing':
    '计划的同一页，附平台现有的值（脱敏）。不做任何更改',
  'Send a part of the stored plan of a held run exactly as it is; the rest stays held':
    '按原样发送待审批任务已存计划的一部分；其余仍待审批',
  'Reject a part of the stored plan of a held run; the rest stays held':
    '驳回待审批任务已存计划的一部分；其余仍待审批',
  'Send the stored plan of a held run exactly as it is, without later changes in HR':
    '按原样发送待审批任务的已存计划，不含此后人事系统的变更',
  'Discard the stored plan of a held run; none of it is sent': '放弃待审批任务的已存计划；其中内容都不发送',
  'How fast the platform is called, whether it accepts that, and the access token':
    '调用平台的速率、平台是否接受，以及访问令牌',
  'Lower the rate of all calls until a given time; then it returns by itself':
    '在指定时间之前降低全部调用的速率；之后自动恢复',
  'End a lower rate before its time': '提前结束降速',
  'Ask the platform whether it accepts the access token, by one call': '以一次调用询问平台是否接受访问令牌',
  'Runs, newest first, by kind, state, who asked and since when':
    '同步任务，最新的在前，可按种类、状态、发起者和时间筛选',
  'Which kinds of runs can be started, and what they cost now': '可以发起哪些种类的同步任务，以及现在的开销',
  'Start a run, or join an identical one that has not begun': '发起同步任务，或并入尚未开始的相同任务',
  'One run: plan, progress, outcomes, calls, cases, decisions, and the previous run of its kind':
    '一次同步任务：计划、进度、结果、调用、异常项、审批，以及同类的上一次任务',
  'Cancel a run: withdraw its waiting work; calls in flight are finished':
    '取消同步任务：撤回待发送内容；正在进行的调用会完成',
  'The cron jobs: when they run, how their latest ticks went, which are paused':
    '定时任务：何时运行、最近几次的结果、哪些已暂停',
  'Run a cron job once now, even while it is paused': '立即运行一次定时任务，即使它已暂停',
  'Skip the ticks of a cron job until it is resumed': '暂停定时任务，直到恢复',
  'Let a cron job run again from its next tick on': '恢复定时任务，自下一次起运行',
  'Cases, codes of the platform, runs, refunds, top-ups and payment orders by number; employees and departments by the beginning of their keys, departments and, for reviewers, people also by their names in HR':
    '按编号查找异常项、平台错误码、同步任务、退款、充值和支付订单；按键的开头查找员工和部门；部门还可按人事系统中的名称查找，审核员还可按姓名查找人员',
  'Every setting as this process has it, without secrets': '该进程的全部设置，不含密钥',
  'The latest findings of the doctor in the console': '控制台中最近一次健康检查的结果',
  'Run the checks of `dirsync doctor`; takes up to 30 s': '运行 `dirsync doctor` 的检查；最长 30 秒',
}
