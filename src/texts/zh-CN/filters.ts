/** What the options of the shell's lists, and the parameters of the API's, do in Chinese, by their English in the schemas. */
export const filterMeanings: Readonly<Record<string, string>> = {
  'From this day or moment on (ISO 8601), or from so long ago: 12h, 7d, 4w':
    '自该日期或时刻（ISO 8601）起，或自多久之前起：12h、7d、4w',
  'Until this moment (ISO 8601), the end of this day, or so long ago: 12h, 7d, 4w':
    '至该时刻（ISO 8601）、该日结束或多久之前：12h、7d、4w',
  'The value `next` of the page before; absent: the first page': '上一页响应中 `next` 的值；不给出则为第一页',
  'The same as `from`': '同 `from`',
  'people, dirsync (by itself), me, or who asked: cron, start, trigger, poller, replan, restore, console:NAME, cli:NAME':
    'people（人工）、dirsync（自动）、me（本人），或具体的发起人：cron、start、trigger、poller、replan、restore、console:NAME、cli:NAME',
  'Name of an HR source, if there are several': '有多个人事数据源时，其中一个的名称',
  'A field that changes, or breaks a rule': '变更的或不合规则的字段',
  'The department that employees leave, as a whole code': '员工调出的部门，完整的编码',
  'Department code, as a whole': '完整的部门编码',
  'Enterprise code': '企业编码',
  'The beginning of a user id or department code': '员工 ID 或部门编码的开头',
  'These alone: user ids or department codes, or enterprise/user id, at most 50, separated by commas':
    '仅限这些：员工 ID 或部门编码，或“企业编码/员工 ID”，最多 50 个，以逗号分隔',
  'Only rows whose reason and changed fields are rare in the plan, or the department that they go to':
    '仅限与众不同的行：其原因和变更字段，或调入的部门，在计划中少见',
  'Of a plan that is decided in parts: rows with this decision, with none yet, or all. Default: all; of a page of one that is held: none yet':
    '计划分部分审批时：该审批结果的行、尚未审批的行（open）或全部（all）。默认为全部；任务仍待审批时，页面只列尚未审批的行',
  'In one of these states: open, retry_scheduled, awaiting_activation, blocked, retrying, snoozed, ignored, resolved; absent: neither resolved nor ignored':
    '处于以下状态之一：open、retry_scheduled、awaiting_activation、blocked、retrying、snoozed、ignored、resolved；不给出则为既未解决也未忽略的',
  'Of one of these categories': '属于以下类别之一',
  'With this code of the platform': '带有该平台错误码',
  'Of an employee, a department, a mirror or an enterprise': '关于员工、部门、数据镜像或企业',
  'Of this operation, such as update-employee': '属于该操作，例如 update-employee',
  'Of this field, such as mobile': '关于该字段，例如 mobile',
  'Of this enterprise': '属于该企业',
  'With this beginning of the key, or part of it from three characters on':
    '键以此开头；三个字符及以上时，也匹配键的任意部分',
  'Of these employees: user ids, or enterprise/user id, at most 50, separated by commas':
    '关于这些员工：员工 ID，或“企业编码/员工 ID”，最多 50 个，以逗号分隔',
  'Of this department (code), or of employees whom the platform shows in this department':
    '关于该部门（编码），或平台显示在该部门中的员工',
  'Assigned to this person; @me: to the caller; -: to no one': '指派给此人；@me 表示调用者，- 表示未指派',
  'That failed first or last in this run': '首次或最近一次失败发生在该同步任务中',
  'That failed first so long ago: 12h, 3d, 2w': '首次失败距今已有这么久：12h、3d、2w',
  'That failed last from this day or moment on (ISO 8601), or from so long ago: 12h, 7d, 4w':
    '最近一次失败不早于该日期或时刻（ISO 8601），或不早于多久之前：12h、7d、4w',
  'That failed last until this moment, the end of this day, or so long ago':
    '最近一次失败早于该时刻、不晚于该日期，或早于多久之前',
  'That failed first within this time: 12h, 3d, 2w': '首次失败距今不超过：12h、3d、2w',
  'With this text in a comment, or in the reason of an ignore or snooze':
    '备注、忽略原因或暂缓原因中含有该文本',
  'That wait for a change of this key': '等待该键变更',
  '`latest`, `earliest`: by the latest failure; `oldest` (the default with `olderThan`), `newest`: by the first failure; `most`, `fewest`: by the number of failures; `key`, `key_backwards`: by the key; `state`, `cause`, `assignee`, `next_try` and the same with `_backwards`. With resolved or ignored cases those by the latest failure alone':
    '`latest`、`earliest`：按最近一次失败；`oldest`（给出 `olderThan` 时为默认）、`newest`：按首次失败；`most`、`fewest`：按失败次数；`key`、`key_backwards`：按键；`state`、`cause`、`assignee`、`next_try` 及各自加 `_backwards`。包含已解决或已忽略的异常项时，只能按最近一次失败排序',
  'The columns on a page and a terminal, beside the key: number, what, cause, state, blocked_by, age, last_failed, failures, next_try, assignee, run, reason':
    '页面和终端上除键之外的列：number、what、cause、state、blocked_by、age、last_failed、failures、next_try、assignee、run、reason',
  'User id, or enterprise/userid': '员工 ID，或“企业编码/员工 ID”',
  'The exact number of an entry, of us or the platform, or of its order or account':
    '完整的编号（我方或平台的），或其订单号、账户',
}
