/**
 * What dirsync says about failures, halts, runs and what doctor finds, as messages (`src/texts/message.ts`). Names in braces are
 * values. A sentence is plain text, for it is put into words by SQL too: neither plurals nor quoted braces.
 */
export const saidTexts = {
  // Words of others, or of an earlier version, as they are.
  'said.words': '{words}',
  // Cases of employees.
  'said.platform_says': 'The platform says: {words}',
  'said.platform_said': 'The platform said: {words}',
  'said.call_failed': '{operation} failed ({facts}): {meaning} {remedy}',
  'said.call_not_sent': '{operation} was not sent ({problems}): {meaning} {remedy}',
  'said.delivered_twice': 'HR delivers this employee more than once',
  'said.mistaken_document':
    'HR has a document number without card_type that is not an identity number, and the platform has an identity card.',
  'said.mistaken_document_remedy':
    'Correct the number in HR, or map card_type: 2 says that it is a passport.',
  'said.not_applied': 'The platform accepted this value, and shows again what it showed before.',
  'said.not_applied_remedy':
    "Find out in the platform's back office what keeps or puts back the other value (a rule, another system), or correct HR.",
  'said.correct_row': 'Correct the row in HR; it is tried again as soon as it changes.',
  'said.broken_rules': '{rules}',
  'said.left_without_row':
    'HR has no row for this employee any more, but the platform still has them in service.',
  'said.left_in_hr': 'HR says that this employee has left, but the platform still has them in service.',
  'said.left_remedy':
    "End the employment in the platform's back office (its interface cannot), or correct HR.",
  'said.keyless_one': 'One row of HR has no user id, or one that is far too long.',
  'said.keyless_many': '{count} rows of HR have no user id, or one that is far too long.',
  'said.keyless_one_of': 'One row of HR source {name} has no user id, or one that is far too long.',
  'said.keyless_many_of': '{count} rows of HR source {name} have no user id, or one that is far too long.',
  'said.stray_owned':
    'HR source {name} delivers this employee, but enterprise {code} is that of HR source {owner}.',
  'said.stray_unowned':
    'HR source {name} delivers this employee, but enterprise {code} is that of no source.',
  'said.stray_none_owned':
    'HR source {name} delivers this employee without an enterprise, but such employees are those of HR source {owner}.',
  'said.stray_none_unowned':
    'HR source {name} delivers this employee without an enterprise, but no source has such employees.',
  'said.stray_remedy':
    'Leave the row out of the mapping of the source whose enterprise it is not, or correct enterprise_codes in the file of HR_SOURCES. The next run that reads every row then closes this.',
  'said.keyless_remedy':
    'Give each a user id of at most 100 characters in HR, or leave them out of the mapping. The next run that reads every row then closes this.',
  'said.worker_ended': 'The worker ended {count} times in the middle of this job.',
  'said.worker_ended_remedy': "Look at the workers' logs around the attempts of this entity, then retry.",
  'said.unsettled':
    'Workers found another HR row than the plan, {count} times in a row, so nothing was sent.',
  'said.unsettled_remedy':
    'See that every process reads the same HR with the same mapping and the same rights, that none reads a replica that lags behind, and that no column of the mapping differs at every read.',
  'said.not_stored': 'PostgreSQL refused to store what came of this job ({reason}).',
  'said.not_stored_remedy':
    'Look for an odd value of this entity in HR and on the platform, mend it, then retry. Report it with this message if there is none.',
  'said.withheld_remedy': 'Then retry this dead letter: everybody follows once one employee gets it through.',
  'said.withheld_one': 'Withheld from 1 employee.',
  'said.withheld': 'Withheld from {count} employees.',
  'said.withheld_more': 'Withheld from more than {count} employees.',
  'said.withheld_codes': 'It concerns the attribute {codes}.',
  'said.swap': 'A swap: {userid} wants the {what} of {holder}, {others}. None of them can go first.',
  'said.swap_member': '{userid} that of {holder}',
  'said.swap_remedy':
    'On the platform, change the {what} of {userid} ({value}) to a temporary one, then retry dead letter {case}: the others follow by themselves.',
  'said.swap_remedy_plain':
    'On the platform, change the {what} of {userid} to a temporary one, then retry dead letter {case}: the others follow by themselves.',
  // Rules that an HR row breaks.
  'said.too_long': '{field} must have at most {limit} characters',
  'said.not_empty': '{field} must not be empty',
  'said.edges': '{field} must not begin or end with a blank or invisible character',
  'said.corp_code': 'corp_code must have 1 to 20 letters and digits, and nothing else',
  'said.gender': 'gender must be 1 (male), 2 (female) or 3 (unknown)',
  'said.date_forms': '{field} must be a date that exists, written yyyy-MM-dd or MM-dd',
  'said.date_form': '{field} must be a date that exists, written yyyy-MM-dd',
  'said.email_form': 'email must be one address with one @ and no blanks',
  'said.email_length': 'email must have 1 to 100 characters',
  'said.level_reserved': 'level must not be {value}, which clears the field',
  'said.category_reserved': 'category must not contain {value}, which clears the field',
  'said.category_form': 'category must be a list of texts, separated by commas or as a JSON array',
  'said.cost_center': 'cost_center_id must be a whole number from 1 to 2147483647',
  'said.active_form': 'active must be true or false (t/f, 1/0, y/n)',
  'said.card_type': 'card_type must be 1 (identity card) or 2 (passport)',
  'said.card_passport':
    'card_no must be a passport number of 1 to 20 letters and digits, or an identity number of 18 or 15 places',
  'said.card_no_passport':
    'card_no must be an identity number of 18 or 15 places, or have card_type 2 beside it if it is a passport number of digits alone',
  'said.card_form': 'card_no must be an identity number of 18 or 15 places',
  'said.card_birth': 'card_no must hold a birth date that exists',
  'said.card_check': 'card_no must end with the right check digit',
  'said.area_form': 'mobile_area must be a phone area code of 1 to 10 digits',
  'said.mobile_form': 'mobile must have 6 to 20 digits; blanks, hyphens and a leading +area code are allowed',
  'said.mobile_conflict': 'mobile carries another area code than mobile_area',
  'said.attribute_form':
    'employee_attribute must be a JSON array of objects with attributeCode and attributeValue, or a JSON object of code: value',
  'said.attribute_code': 'employee_attribute: each attributeCode must have 1 to 100 characters',
  'said.attribute_value': 'employee_attribute: each attributeValue must have 1 to 100 characters',
  'said.attribute_type':
    'employee_attribute: each attributeValue must be text, or a whole number of at most 15 digits',
  'said.attribute_twice': 'employee_attribute: each attributeCode may occur once only',
  // Halts.
  'said.hr_unread': 'HR cannot be read',
  'said.source_unread': 'HR source {name} cannot be read',
  'said.hr_unread_because': 'HR cannot be read: {reason}',
  'said.source_unread_because': 'HR source {name} cannot be read: {reason}',
  'said.hr_unread_remedy': 'Run `dirsync doctor`; work continues by itself once HR answers again.',
  'said.hr_silent':
    'the HR database does not answer ({reason}); check HR_DATABASE_URL or HR_SOURCES, and that the server is up',
  'said.hr_away': 'the HR database does not answer',
  'said.hr_late': 'the HR database did not answer within {seconds} s',
  'said.hr_not_read_here': 'this process does not read HR',
  'said.hr_too_slow': "HR's server needed more than {seconds} s for the SELECT, and stopped it",
  'said.files_unread': "HR's files cannot be read ({reason})",
  'said.no_space': 'no space left in HR_FILES_KEEP',
  'said.kept_broken': 'what HR_FILES_KEEP holds is broken: remove it',
  'said.duckdb_silent': 'DuckDB does not answer',
  'said.in_mapping': '{place}: {reason}',
  'said.value_refused':
    'the query failed on a value in HR (SQLSTATE {state}); make its casts and arithmetic accept every row (`dirsync hr check` tells which does not)',
  'said.value_refused_otherwise': 'the query failed on a value in HR ({state})',
  'said.culprit': '{reason}. It is column {column}.',
  'said.culprit_of': '{reason}. It is column {column} of employee {userid}.',
  'said.subquery_of_many':
    'a subquery returned more than one row for an employee ({state}); make it return one, such as with max() or limit 1',
  'said.row_too_long':
    'the row of {userid} is longer than {limit} kB, above all in {column}: shorten it in the SELECT, or raise HR_ROW_LIMIT_KB',
  'said.a_row_too_long':
    'a row is longer than {limit} kB, above all in {column}: shorten it in the SELECT, or raise HR_ROW_LIMIT_KB',
  'said.problems': '{problems}',
  'said.problems_and_more': '{problems}; and {count} more',
  'said.department_too_long': 'dept_code {code} has more than 50 characters',
  'said.department_twice': 'dept_code {code} occurs twice',
  'said.department_active': 'active of {code} is neither true nor false',
  'said.department_closed_at': 'closed_at of {code} is not a date',
  'said.departments_nameless': '{rows} rows have no dept_code',
  'said.departments_cycle': "departments are each other's parents: {path}",
  'said.mapping_unreadable': 'the file cannot be read ({reason})',
  'said.mapping_not_utf8': 'the file is not in UTF-8; save it as UTF-8',
  'said.mapping_no_departments': 'there is no mapping of departments',
  'said.mapping_uncounted': 'column dept_code is missing; employees cannot be counted by department',
  'said.mapping_dept_code':
    'column dept_code is missing; {file} needs it, so that no department with employees in it is deleted',
  'said.mapping_columns': '{problems}. Columns may be: {columns}',
  'said.mapping_no_field': 'no employee field is mapped; map at least one',
  'said.mapping_code_twice': 'code and corp_code are both mapped; map the work number once',
  'said.mapping_area_alone': 'mobile_area is mapped without mobile',
  'said.mapping_type_alone': 'card_type is mapped without card_no',
  'said.mapping_lacks': 'column {column} is missing',
  'said.mapping_column_twice': 'column {column} occurs {count} times',
  'said.mapping_unknown': 'unknown column {column}',
  'said.mapping_nameless': 'unknown column {column} (an expression without "as")',
  'said.mapping_capitals': 'unknown column {column} (write {name} in small letters)',
  'said.mapping_no_moment': 'column {column} cannot be of type {type} (it must be a timestamp or a date)',
  'said.mapping_no_value': 'column {column} cannot be of type {type} (make it a single plain value)',
  'said.select_unclosed': 'a quote or comment is not closed',
  'said.select_in_comment': 'the server runs what stands in this comment; write it without the comment',
  'said.select_second': 'a second statement begins; the mapping must be one SELECT',
  'said.select_parenthesis': 'a parenthesis closes that was never opened',
  'said.select_empty': 'the file holds no statement; it must be one SELECT',
  'said.select_other': 'the statement must be a SELECT (or begin with WITH)',
  'said.select_acts': '{words} can do more than read; leave it out',
  'said.select_question': 'the SELECT has a parameter ?, and nobody gives it a value',
  'said.select_parameter': 'the SELECT has a parameter, and nobody gives it a value',
  'said.select_parameter_named': 'there is no parameter {name} (42P02)',
  'said.select_calls': 'it calls {name}, which can do more than read; leave it out',
  'said.select_calls_volatile':
    'it calls {name}, which is VOLATILE and may do more than read; declare it STABLE in HR, or call it in a view of HR',
  'said.select_reads': 'it reads {name}, which the server shows to its administrators alone; leave it out',
  'said.select_hidden':
    'the server does not tell how it reads the SELECT, so that dirsync cannot see which functions it calls; connect to PostgreSQL itself',
  'said.source_unnamed': 'the settings of this process name no HR source {name}',
  'said.source_nameless': 'the settings of this process name no HR source without a name',
  'said.hr_login':
    'the HR database refuses the login ({reason}); check user, password and database in HR_DATABASE_URL or HR_SOURCES',
  'said.hr_no_database':
    'the HR server has no such database ({reason}); check user, password and database in HR_DATABASE_URL or HR_SOURCES',
  'said.dry_run_died':
    'The process that read it ended before it was done ({reason}): it may need more than {limit} MB, as with rows that are very long. Its limit is DRY_RUN_MEMORY_MB.',
  'said.dry_run_ended': 'The process that carried it out ended before it was done.',
  'said.dry_run_too_long': 'It took more than {minutes} minutes, and was stopped.',
  'said.dry_run_stopped': 'It was stopped before it was done.',
  'said.select_in_use': 'the SELECT in use is wrong: {reason}',
  'said.which_source': 'which HR source is it for? There are {names}',
  'said.no_such_source': 'there is no HR source {name}',
  'said.too_many_rows':
    'It gives more than {limit} rows, far more than HR has employees, and was stopped: does a join lack its condition?',
  'said.hr_no_right':
    'the HR user has no right to this database, or there is none of this name ({reason}); check user, password and database in HR_DATABASE_URL or HR_SOURCES',
  // Deliveries of files.
  'said.delivery_incomplete': 'the delivery in {folder} is not complete: {problem}',
  'said.delivery_changed': 'its files changed while they were read',
  'said.folder_away':
    'the folder {folder} cannot be read ({reason}); check HR_DATABASE_URL or HR_SOURCES, and that the folder is there and mounted',
  'said.folder_silent': 'it does not answer',
  'said.delivery_empty': 'the folder has no file of data: {names}',
  'said.delivery_unkept':
    "HR's deliveries cannot be kept in {folder} ({reason}); set HR_FILES_KEEP to a folder that may be written",
  'said.no_duckdb':
    'HR in files is read by DuckDB, which is not installed here: run npm install @duckdb/node-api, with Node.js 24 on glibc',
  'said.file_missing': 'the file {file}, which the last delivery had, is missing',
  'said.marker_missing': 'the marker {file} is missing',
  'said.marker_old': 'the file {file} is newer than the marker {marker}',
  'said.file_writing':
    'the file {file} was still being written {count} s ago, and a delivery is complete after {limit} s without a change',
  'said.file_link': 'the file {file} is a symbolic link that leads out of the folder',
  'said.file_irregular': 'the file {file} is not a regular file',
  'said.file_unreadable': 'the file {file} cannot be read ({reason})',
  'said.files_twice': 'the files {file} and {other} would be the same table',
  'said.file_empty': 'the file {file} is empty',
  'said.file_cut':
    'the file {file} ends in the middle of its last line: let the export end it, or deliver with a marker',
  'said.file_cut_array': 'the file {file} ends in the middle of its array',
  'said.file_no_text':
    'the file {file} line {line} (from byte {bytes} on) is no text in {encoding}; check HR_FILES_ENCODING, or the export',
  'said.file_cut_character': 'the file {file} ends in the middle of a character of {encoding}',
  'said.file_columns_twice': 'the file {file} has the same name for columns {column} and {other}',
  'said.file_columns':
    'the file {file} cannot be read: line {line} has {count} values, and line {other} names {limit} columns',
  'said.file_records': 'the file {file} cannot be read: it has {count} records, and {rows} of them were read',
  'said.file_wide_row':
    'the file {file} has more values in row {line} of sheet {sheet} than row {other} names columns: name them all, or say in HR_FILES_HEADINGS which row names them',
  'said.file_no_heading':
    'the file {file} has nothing in row {line}, which HR_FILES_HEADINGS says names the columns',
  'said.file_quote': 'the file {file} cannot be read: line {line} has a quote that is not closed',
  'said.file_no_csv_line': 'the file {file} cannot be read: line {line} is no CSV',
  'said.file_no_csv': 'the file {file} cannot be read: it is no CSV',
  'said.file_no_json': 'the file {file} is not whole, or no JSON',
  'said.file_broken_xml': 'the file {file} is broken: {words}',
  'said.file_no_object': 'the file {file} holds no object',
  'said.file_no_parquet': 'the file {file} is not whole, or no Parquet',
  'said.file_no_workbook': 'the file {file} is not a workbook of Excel ({words})',
  'said.file_no_sheets': 'the file {file} is not a workbook of Excel: it lists no sheet',
  'said.file_table_taken': 'the file {file} would be a table that another file, or a sheet, already is',
  'said.file_formula': 'the file {file} has {value} in cell {cell} of sheet {sheet}: mend its formula',
  'said.file_uncomputed':
    'the file {file} has a formula without a value in cell {cell} of sheet {sheet}: save it with Excel',
  'said.file_no_text_of_cell': 'the file {file} lacks the text of cell {cell} of sheet {sheet}',
  'said.file_no_sheet': 'the file {file} has nothing in its first sheet, {sheet}',
  'said.file_too_big': 'the file {file} holds more than 512 MB of shared texts; export it as CSV',
  'said.paused_by': 'All calls are paused by {name}: {words}',
  'said.resume_remedy': 'Let them go on with `dirsync resume`.',
  // What stops a run before it writes, and what became of it.
  'said.no_rows': 'HR delivered no rows at all: check the mapping query and the HR database',
  'said.no_user_ids':
    'none of the {rows} rows that HR delivers has a user id: check the mapping query and the HR database',
  'said.key_twice':
    'HR delivers a key more than once ({keys}): make the mapping query return one row per employee',
  'said.keys_twice':
    'HR delivers keys more than once ({keys}): make the mapping query return one row per employee',
  'said.fewer_rows':
    'HR delivers {rows} rows, {percent} % fewer than the last good run ({before}): check the mapping query and the HR database, or raise GATE_MAX_FEWER_ROWS if so many have left',
  'said.fewer_user_ids':
    'HR delivers {rows} rows with a user id, {percent} % fewer than the last good run ({before}): check the mapping query and the HR database, or raise GATE_MAX_FEWER_ROWS if so many have left',
  'said.emptied':
    '{columns} turned empty for more than {percent} % of the rows: check the mapping query and the HR database, or raise GATE_MAX_EMPTIED if this is so in HR',
  'said.missing_employees':
    'HR has {counted} employees in departments, of {before} in the last good run: check the mapping query and the HR database, or raise GATE_MAX_FEWER_ROWS if so many have left',
  'said.employees_unread':
    'No department is deleted before a run has read all employees and passed: look at the latest run of kind changes.',
  'said.straying':
    '{count} of {rows} rows that HR delivers are of enterprises that are not those of the source: check the mapping query, or enterprise_codes in the file of HR_SOURCES',
  'said.misassigned':
    'HR delivers none of the {employees} employees who are known of enterprise {code}: check the mapping query, or enterprise_codes in the file of HR_SOURCES',
  'said.misassigned_none':
    'HR delivers none of the {employees} employees who are known without an enterprise: check the mapping query, or enterprise_codes in the file of HR_SOURCES',
  'said.nothing_enqueued': 'Nothing was enqueued.',
  'said.suspect': '{reason}. Nothing was enqueued.',
  'said.employees_change':
    '{changing} of {total} employees would change, more than {count} and {percent} %: look at the plan, then approve or reject the run.',
  'said.most_left':
    'HR says that {left} of {total} employees have left, more than {percent} %: check how the mapping tells who is active, then approve or reject the run.',
  'said.departments_go':
    '{changing} of {total} departments would be deleted, more than {count} and {percent} %: look at the plan, then approve or reject the run.',
  'said.was_rejected': '{count} of them was rejected before, with run {run} by {name}.',
  'said.were_rejected': '{count} of them were rejected before, with run {run} by {name}.',
  'said.unchanged_since': 'HR has not changed since.',
  'said.changed_row_since':
    'Since then HR has changed {count} row: approval sends the plan as it was stored and leaves them to the next one.',
  'said.changed_rows_since':
    'Since then HR has changed {count} rows: approval sends the plan as it was stored and leaves them to the next one.',
  'said.not_judged': 'HR could not be judged again: {reason}',
  'said.plan_stays': 'The plan stays as it was stored: approve or reject the run.',
  'said.held_already': 'Run {run} is held with such a plan already: approve or reject that one.',
  'said.took_place': 'HR looks right again: run {run} took its place.',
  'said.nothing_sent': 'Nothing of this plan was sent.',
  'said.source_gone': 'Its HR source is not among those of the settings any more.',
  'said.taken_back': 'What waited to be sent was taken back.',
  'said.left_out': '{count} planned rows are left out: a later plan that passed has seen newer ones.',
  'said.left_out_or_moved':
    '{count} planned rows are left out: a later plan that passed has seen newer ones, or another HR source has their enterprise now.',
  'said.unknown_names': 'unknown: {names}',
  'said.unknown_and_unread': 'unknown: {names}; {unread}',
  'said.of_source': 'HR source {name}: {reason}',
  'said.no_source': 'no HR source has enterprise {code}',
  'said.no_source_of_none': 'no HR source has employees without an enterprise',
  'said.no_such_department': 'the platform had no such department',
  'said.knows_nobody': 'neither HR nor dirsync knows an employee {names}',
  'said.reads_again': 'run {run} reads {kind} again',
  'said.reads_all_again': '{runs}',
  'said.no_departments_sql': '{setting} is not set: no department is ever deleted',
  'said.no_departments': 'HR delivered no departments at all: check the mapping query and the HR database',
  'said.switched': 'The database was switched to another account of the platform.',
  // Mirrors.
  'said.unfit': 'What the platform gave cannot be stored (SQLSTATE {state}).',
  'said.unfit_remedy': 'Report it with the attempt and its time.',
  'said.taxpayer_remedy': 'Correct the number in TAXPAYER_IDENTIFIERS.',
  'said.no_taxpayers': 'TAXPAYER_IDENTIFIERS is empty: there is no taxpayer to ask for',
  'said.refused_before': 'the platform refused this before: see dead letter {cases}',
  'said.enterprise_halted': 'Enterprise {code} is halted',
  'said.halted_because': '{what}: {meaning} {remedy}',
  'said.only_enterprise_halted': 'The enterprise is halted',
  'said.unknown_payer': 'A payment order names a payer who is not in HR.',
  'said.unknown_payer_remedy':
    'Find out who it is: an employee that HR or its mapping leaves out, or somebody who should not pay. The case ends when the employee is in HR.',
  // Money.
  'said.carried_out_unknown': 'whether it was carried out is unknown',
  'said.refund_resolve':
    'Find out from the vendor whether it was carried out, then: dirsync refund resolve {number} --as accepted (or rejected) --reason "…"',
  'said.refund_by_itself':
    'Nothing for now: the service asks the order record by itself. To ask at once: dirsync refund settle {number}',
  'said.topup_resolve': `See in the platform's back office whether it is there, then: dirsync topup resolve {number} --as accepted (or rejected) --reason "…"`,
  'said.sender_ended': 'its sender ended before it stored the answer',
  'said.our_side': 'something failed on our side of the call: see the log of dirsync',
  'said.token_accepted': 'The platform accepts the access token.',
  'said.answer_not_stored':
    "the platform's answer ({money_state}) could not be stored, for dirsync's own database does not answer: {what}",
  'said.refund_settles_itself': 'dirsync start settles the refund when it does',
  'said.topup_note_down': 'note the answer down, and say it with dirsync topup resolve when it does',
  'said.no_such_refund': 'there is no refund {number}',
  'said.no_such_topup': 'there is no top-up {number}',
  'said.refund_is_sent': 'refund {number} is being sent at this moment: look again in a minute',
  'said.topup_is_sent': 'top-up {number} is being sent at this moment: look again in a minute',
  'said.refund_is_known':
    'refund {number} is {money_state}: a person decides only where the outcome is unknown',
  'said.topup_is_known':
    'top-up {number} is {money_state}: a person decides only where the outcome is unknown',
  'said.order_busy': 'another refund of order {trade} is being sent at this moment',
  'said.order_open':
    'the outcome of refund {number} of the same order is open ({money_state}): nothing more is sent for the order until it is settled',
  'said.refund_sent_before':
    'refund {number} was sent before ({amount} of order {trade}, now {money_state}): a number is never sent twice; use a new one for another refund',
  'said.topup_sent_before':
    'top-up {number} was sent before ({amount} for account {account}, now {money_state}): a number is never sent twice; use a new one for another top-up',
  'said.account_busy':
    'top-up {number} ({amount}) of the same account is open ({money_state}): find out first whether it was carried out; to send another one beside it, name it: dirsync topup send … --although-open {number}',
  'said.topup_busy': 'top-up {number}, or another one of account {account}, is being sent at this moment',
  'said.record_shows_none':
    'the order record shows no amount refunded, {before} before this refund of {amount}',
  'said.record_shows': 'the order record shows {refunded} refunded, {before} before this refund of {amount}',
  'said.shown_means': '{shown}: {what}',
  'said.shown': '{shown}',
  'said.order_record_unread': 'the order record',
  'said.payment_order_unread': '{shown}; the payment order',
  'said.could_not_read': '{unread} could not be read: {reason}',
  'said.status_unknown': 'an unknown one',
  'said.payment_order': 'payment order {trade} has status {status} ({meaning}), no amount refunded',
  'said.payment_order_refunded': 'payment order {trade} has status {status} ({meaning}), {refunded} refunded',
  'said.not_carried_out': 'it was not carried out, and cannot be any more',
  'said.record_cannot_tell':
    'what was refunded before is not known, so the order record cannot tell: {reading}',
  'said.left_to_person': 'ask the platform, then say so with dirsync refund resolve',
  'said.merged': 'merged into dead letter {case}',
  'said.more_withheld': 'more is withheld',
  'said.swap_of': 'swap {case}',
  'said.halted': 'halted: {reason}',
  'doctor.enterprise_halted': 'enterprise {code} is halted: {reason}',
  'doctor.everything_halted': 'everything is halted: {reason}',
  'said.see_case': 'dead letter {case}: {category}',
  'said.a_case': 'dead letter',
  'said.switched_off': 'its feature is switched off for the enterprise',
  'said.not_kept': 'the platform accepted it before, and did not keep it',
  'said.mistaken': 'HR does not say that it is a passport, and the platform has an identity card',
  'said.keeps_own': 'HR has none, the platform keeps its own',
  // What doctor finds.
  'doctor.valid': 'the access token is valid for another {time}',
  'doctor.complete': 'complete',
  'doctor.misspelt': '{name} is not a setting of dirsync',
  'doctor.meant': 'Did you mean {setting}?',
  'doctor.remove_it': 'Remove it, or correct its name.',
  'doctor.database_silent': "dirsync's own database does not answer: {reason}",
  'doctor.database_lacks': 'the database lacks {names}',
  'doctor.migrate': '{command} brings it up to date, and so does every start.',
  'doctor.no_reviewer': 'the role dirsync_reviewer is missing or may not read failed_syncs',
  'doctor.print_grants': '{command} prints what an administrator has to run.',
  'doctor.no_account': 'the database belongs to no account yet; the first start binds it to {account}',
  'doctor.account': '{account}, since {time}; deployment {name}',
  'doctor.addresses_of_source':
    'HR source {name} is read at {address} by {processes}, and elsewhere by others',
  'doctor.addresses': 'HR is read at {address} by {processes}, and elsewhere by others',
  'doctor.same_address':
    'Where these are different databases, give all processes the same one and restart them: each would send what its own says.',
  'doctor.needs_database': 'not checked: the token and the pacer live in the database',
  'doctor.columns': '{file}: {names}',
  'doctor.unusable_because': '{address} gives no usable answer: {reason}',
  'doctor.check_application':
    "In this order: correct PLATFORM_SIGN_ALGORITHM, correct PLATFORM_APP_ID, then PLATFORM_APP_SECRET (of this very application, nothing around it), then this machine's clock.",
  'doctor.check_application_alone':
    "In this order: leave PLATFORM_SIGN_ALGORITHM, correct PLATFORM_APP_ID, then PLATFORM_APP_SECRET (of this very application, nothing around it), then this machine's clock.",
  'doctor.rate_refused': '{rate} calls per second: learnt, {ceiling} were refused',
  'doctor.rate_below_set':
    '{rate} calls per second, although PLATFORM_RATE_LIMIT is {set}: {ceiling} were refused',
  'doctor.set_rate': 'Nothing to do; set what the vendor permits, or auto, to begin there.',
  'doctor.answers': '{name} answers',
  'doctor.up_to_date': 'up to date',
  'doctor.reviewer': 'the role dirsync_reviewer may read failed_syncs',
  'doctor.embedded': 'no address is set, so everything runs embedded, with its data in .dirsync/',
  'doctor.cron_jobs': '{count} cron jobs, scheduled in the time zone {name}',
  'doctor.cron_jobs_off': '{count} cron jobs, scheduled in the time zone {name}; off: {jobs}',
  'doctor.start_server': 'Start the server, or correct DATABASE_URL.',
  'doctor.correct_it': 'Correct it, then run this again: the rest was not checked.',
  'doctor.holds_queue': '{name} holds the queue',
  'doctor.queue_schema': "the queue's schema is of version {version}",
  'doctor.run_migrate': 'run `dirsync migrate`',
  'doctor.correct_postgres': 'correct DATABASE_URL or PostgreSQL',
  'doctor.redis_silent': 'Redis does not answer',
  'doctor.start_redis': 'start it, or correct REDIS_URL',
  'doctor.redis_old': 'Redis is of version {version}',
  'doctor.use_redis': 'use Redis 6.2 or later',
  'doctor.redis_writes': 'Redis takes writes',
  'doctor.redis_refuses': 'Redis refuses writes: {reason}',
  'doctor.help_redis':
    'give it more memory (maxmemory) or room on its disk, or connect to the primary; its log says more',
  'doctor.redis_keeps': 'Redis keeps the queue when its memory is full (maxmemory-policy noeviction)',
  'doctor.redis_drops': 'Redis drops parts of the queue when its memory is full (maxmemory-policy {policy})',
  'doctor.set_noeviction': 'set maxmemory-policy noeviction',
  'doctor.redis_lasts': 'Redis keeps the queue through a restart (appendonly yes)',
  'doctor.redis_forgets': 'Redis may forget the queue when it restarts (appendonly no); it is then fed again',
  'doctor.set_appendonly': 'set appendonly yes',
  'doctor.sessions_read_only': '{name} answers; sessions are read-only ({state})',
  'doctor.may_write': 'the HR user may write to {count} tables, though dirsync never does',
  'doctor.hidden_rows':
    'row-level security decides which rows of {names} the HR user sees, and may hide all of them',
  'doctor.show_rows': 'Give the HR user a policy that shows all employees, or BYPASSRLS.',
  'doctor.select_only': 'Give HR_DATABASE_URL a user that may only SELECT.',
  'doctor.correct_mapping': 'Correct the mapping file.',
  'doctor.correct_file': 'Correct the file, or the setting that names it.',
  'doctor.reads_whole': 'every look-up of an employee reads all of {table}, about {rows} rows',
  'doctor.make_index': 'Have an index made in HR: {statement}.',
  'doctor.map_plainly':
    'Write the mapping so that an index finds one user id: map its column as it is, and join by indexed columns.',
  'doctor.no_trigger': 'not installed: cron jobs find what HR changes',
  'doctor.trigger_impossible':
    'HR is not in PostgreSQL, which alone can have one: cron jobs find what HR changes, and at once with HR_POLL_SECONDS',
  'doctor.trigger_polled':
    'HR is not in PostgreSQL, which alone can have one: newer rows are looked for every {seconds} s',
  'doctor.poll_unmapped': 'HR_POLL_SECONDS is set, but updated_at is not mapped: nobody looks for newer rows',
  'doctor.map_updated_at': 'Map updated_at, or unset HR_POLL_SECONDS.',
  'doctor.hr_session': "sessions: time zone {zone} (the server's own is {own}), {charset}, no sql_mode",
  'doctor.sql_mode': "the HR server's sql_mode has {modes}, which mappings are read without",
  'doctor.portable_sql':
    'In mappings, write names in backticks, texts in single quotes, and concat() instead of ||.',
  'doctor.delivery': 'the last whole delivery: {words}',
  'doctor.delivery_next': 'what is in the folder now is no whole delivery: {problem}',
  'doctor.delivery_wait': 'Runs stop until it is one; look-ups read the last whole delivery.',
  'doctor.delivery_ignored': 'not data, and not read: {words}',
  'doctor.files_cron': 'HR is in files: cron jobs find a new delivery, and at once with HR_POLL_SECONDS',
  'doctor.files_polled': 'HR is in files: a new delivery is looked for every {seconds} s',
  'doctor.trigger_heard': '{names}: a scheduler listens',
  'doctor.trigger_unheard': '{names}: installed, and nobody listens',
  'doctor.start_scheduler':
    'Start a scheduler. Where one runs, HR_DATABASE_URL must not lead through a pooler or to a replica.',
  'doctor.not_checked': 'not checked: {reason}',
  'doctor.because_paused': 'not checked, because all calls are paused',
  'doctor.because_silent': 'not checked, because the platform does not answer',
  'doctor.not_asked': '{address} was not asked: all calls are paused, see dirsync status',
  'doctor.no_way_through': 'no call got through to {address} within {time}',
  'doctor.no_usable_answer': '{address} gives no usable answer',
  'doctor.check_network': 'Check PLATFORM_BASE_URL and the network.',
  'doctor.other_algorithm': 'The platform does not accept signatures of {given}; it accepts {algorithm}.',
  'doctor.set_algorithm': 'Set PLATFORM_SIGN_ALGORITHM to {algorithm}.',
  'doctor.application':
    'The platform does not accept the application id, its secret or the signature with {tried}.',
  'doctor.clock_agrees': "this machine's clock agrees with the platform's",
  'doctor.clock_behind': "this machine's clock is {time} behind the platform's",
  'doctor.clock_ahead': "this machine's clock is {time} ahead of the platform's",
  'doctor.clock_unknown': 'the platform does not tell its time',
  'doctor.set_clock': "Set this machine's clock (NTP).",
  'doctor.rate_together': '{rate} calls per second, all processes together',
  'doctor.rate_learnt': '{rate} calls per second: learnt, none refused yet',
  'doctor.running': 'running: {processes}',
  'doctor.nobody': 'no scheduler and no worker is running: start them with {command}',
  'doctor.nobody_is': 'no {role} is running: start one with {command}',
  'doctor.by_password': 'people sign in with a password',
  'doctor.by_provider': 'people sign in at the identity provider alone',
  'doctor.by_key': 'every start prints an address that signs in once',
  'doctor.nobody_signs_in': 'nobody can sign in to the console yet',
  'doctor.add_user': 'Add the first user with {command} users add NAME --role admin.',
  'doctor.provider_silent': 'the identity provider {address} gives no usable answer: {reason}',
  'doctor.check_provider': 'Check OIDC_ISSUER and the network; users with a password can sign in meanwhile.',
  'doctor.without_tls': 'CONSOLE_URL is {address}: passwords and sessions cross the network without TLS',
  'doctor.with_tls': 'Put a proxy with TLS in front, and set CONSOLE_URL to its https:// address.',
  'doctor.channel_shown': 'no channel is set: the console shows alerts',
  'doctor.no_channel': 'no channel is set: alerts reach nobody who does not look',
  'doctor.set_channel':
    'Set {setting} to the address of a robot, a webhook or a mail server: see docs/alerts.md.',
  'doctor.channel': 'channel {channel}: {means} to {address}, told of {least} and worse',
  'doctor.channel_without_tls': 'channel {channel}: messages to {address} cross the network without TLS',
  'doctor.channel_with_tls': 'Set {setting} to an https:// address.',
  'doctor.channel_fails': 'channel {channel} cannot send: {reason}',
  'doctor.correct_channel': 'Correct {setting}, or the mail server.',
  'doctor.newest': 'the newest updated_at is {time} ago',
  'doctor.none_new': 'no updated_at is of the last day',
  'doctor.in_utc':
    'the newest updated_at is {time} ago: perhaps the times are in UTC, and read as those of China',
  'doctor.in_future': '{count} rows have an updated_at in the future: every run reads them',
  'doctor.correct_times': 'Correct these times in HR, or the time zone of updated_at in the mapping.',
  'doctor.undated': '{count} rows have no updated_at: every run reads them',
  'doctor.let_hr_date': 'Let HR write updated_at with each change, or leave it out of the mapping.',
  'doctor.superuser': 'the role of DATABASE_URL is a superuser: what it runs can switch the audit off',
  'doctor.no_superuser':
    'Let a role own the database that is no superuser: docs/compose.md has the statements.',
  'doctor.no_console_url': 'CONSOLE_URL is not set: messages do not link to the console',
  'doctor.set_console_url': 'Set CONSOLE_URL to the address that people open the console at.',
} as const
