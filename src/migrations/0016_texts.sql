-- What operators read, for SQL: the catalogue of texts, and the view that a reviewer reads first.

-- The texts that operators read, by language: written anew at each migrate and start, from the catalogue of
-- the version that ran it. Changing a row changes nothing for long.
create table dirsync.text (
  language text not null,  -- en or zh-CN.
  -- Name of the text: what it is a name of, a dot, and the value, such as category.duplicate_mobile.
  key      text not null,
  text     text not null,  -- The text, with parameters in braces.
  -- Of a text that takes values: what stands before them; then for each its name, the list that names it
  -- (empty: it is said as it is) and what stands after it.
  parts    text[],
  primary key (language, key)
);

create function dirsync.name_of(language text, list text, value text) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce((select t.text from dirsync.text t
                   where t.language = name_of.language and t.key = list || '.' || value), value)
$$;
comment on function dirsync.name_of is
  'The name of a value in a language, such as name_of(''zh-CN'', ''state'', ''open''); the value itself '
  'where the catalogue has no name for it.';

-- Reviewers call this one. What it calls has its rights, and so costs little for each row of a view.
create function dirsync.in_language(language text, said jsonb) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return dirsync.worded(language, said);
end $$;
comment on function dirsync.in_language is
  'A message as dirsync stores it, in words: in_language(''en'', message). It is the key of a text and its '
  'values, or a list of such. src/texts/message.ts does the same for console and shell, held to this by a '
  'test.';

create function dirsync.worded(language text, said jsonb) returns text
language plpgsql stable as $$
declare
  sentence dirsync.text;
  words text;
begin
  if jsonb_typeof(said) = 'array' then
    for i in 0 .. jsonb_array_length(said) - 1 loop
      continue when said -> i = '[]';
      words := coalesce(words || case when language = 'en' then ' ' else '' end, '')
               || dirsync.worded(language, said -> i);
    end loop;
    return coalesce(words, '');
  end if;
  select * into sentence from dirsync.text t where t.language = worded.language and t.key = said ->> 'key';
  if not found then
    return coalesce(said #>> '{values,words}', said ->> 'key');
  elsif sentence.parts is null then
    return sentence.text;
  end if;
  words := sentence.parts[1];
  for i in 2 .. array_length(sentence.parts, 1) by 3 loop
    words := words || dirsync.value_text(language, sentence.parts[i + 1],
                                         said -> 'values' -> sentence.parts[i]) || sentence.parts[i + 2];
  end loop;
  return words;
end $$;
comment on function dirsync.worded is 'in_language, for one who may read dirsync.text.';

create function dirsync.value_text(language text, list text, value jsonb) returns text
language plpgsql stable as $$
declare
  words text;
begin
  if jsonb_typeof(value) = 'array' then
    for i in 0 .. jsonb_array_length(value) - 1 loop
      words := coalesce(words || case when jsonb_typeof(value -> i) = 'string'
                                      then case when language = 'en' then ', ' else '、' end
                                      else case when language = 'en' then '; ' else '；' end end, '')
               || case when jsonb_typeof(value -> i) = 'array' then dirsync.worded(language, value -> i)
                       else dirsync.value_text(language, list, value -> i) end;
    end loop;
    return coalesce(words, '');
  elsif jsonb_typeof(value) = 'object' then
    return dirsync.worded(language, value);
  elsif list <> '' then
    return coalesce(dirsync.name_of(language, list, value #>> '{}'), '');
  end if;
  return coalesce(value #>> '{}', '');
end $$;
comment on function dirsync.value_text is
  'A value of a message in words: of a list, names are set apart by commas and messages by semicolons.';

create view dirsync.failure as
select *
from (
  select id, enterprise_code, entity, entity_key, operation, nullif(field, '') as field, category,
         platform_code, message, remedy, blocked_by, occurrences, first_failed_at, last_failed_at, state,
         next_retry_at, swap_id
  from dirsync.dead_letter
  where state not in ('resolved', 'ignored')
  union all
  select null, enterprise_code, 'refund', outer_refund_no, 'send-refund', null, 'outcome_unknown',
         platform_code, coalesce(message, '{"key": "said.carried_out_unknown"}'),
         jsonb_build_object(
           'key', case when waits then 'said.refund_resolve' else 'said.refund_by_itself' end,
           'values', jsonb_build_object('number', outer_refund_no)),
         null, 1, sent_at, sent_at, case when waits then 'open' else 'retry_scheduled' end,
         next_settle_at, null::bigint
  from dirsync.refund,
       lateral (select next_settle_at is null or left_to_person_at is not null as waits) as person
  where state = 'unknown'
  union all
  select null, enterprise_code, 'topup', external_code, 'send-topup', null, 'outcome_unknown',
         platform_code, coalesce(message, '{"key": "said.carried_out_unknown"}'),
         jsonb_build_object('key', 'said.topup_resolve',
                            'values', jsonb_build_object('number', external_code)),
         null, 1, sent_at, sent_at, 'open', null, null
  from dirsync.topup
  where state = 'unknown'
) as failed
order by state <> 'open', last_failed_at desc, id desc;
comment on view dirsync.failure is 'The rows of failed_syncs, with messages as they are stored.';


-- Here and below, the outer select keeps the order of the view, and puts into words only what is read.
create view dirsync.failed_syncs as
select id, enterprise_code, entity, entity_key, operation, field, category, platform_code,
       dirsync.in_language('en', message) as message, dirsync.in_language('en', remedy) as remedy,
       blocked_by, occurrences, first_failed_at, last_failed_at, state, next_retry_at, swap_id
from dirsync.failure;

comment on view dirsync.failed_syncs is
  'What a reviewer reads first: every case that is neither resolved nor ignored, and every refund and '
  'top-up of unknown outcome, open ones first, the latest on top. Act with dirsync.retry(id), ignore(id, '
  'reason), snooze(id, until, reason). A refund or top-up has no id, for none of these may send money again '
  'or hide that it is missing: its remedy says what to do.';

-- The columns are those of dead_letter, with the same comments but for what refunds and top-ups add.
do $$
declare
  same record;
begin
  for same in
    select v.attname, col_description(t.attrelid, t.attnum) as text
    from pg_attribute v
    join pg_attribute t on t.attname = v.attname and t.attrelid = 'dirsync.dead_letter'::regclass
    where v.attrelid = 'dirsync.failed_syncs'::regclass and v.attnum > 0
  loop
    execute format('comment on column dirsync.failed_syncs.%I is %L', same.attname, same.text);
    execute format('comment on column dirsync.failure.%I is %L', same.attname, same.text);
  end loop;
end $$;
comment on column dirsync.failed_syncs.id is
  'Number of the case, for retry, ignore and snooze; null for a refund or top-up, see its remedy.';
comment on column dirsync.failed_syncs.entity is
  'employee, department, mirror, refund, topup, or enterprise: a field that is withheld from all employees '
  'of an enterprise.';
comment on column dirsync.failed_syncs.entity_key is
  'User id, department code, the mirror (orders, accounts, taxpayers), the number of a refund or top-up, or '
  'the enterprise code, (single enterprise) where there is none.';
comment on column dirsync.failed_syncs.message is 'What failed, without personal data.';
comment on column dirsync.failed_syncs.remedy is 'What to do about it.';
comment on column dirsync.failed_syncs.operation is
  'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, '
  'mirror-taxpayers; or send-refund, send-topup.';

create view dirsync.failed_syncs_zh as
select id, enterprise_code, entity, dirsync.name_of('zh-CN', 'entity', entity) as entity_name, entity_key,
       operation, dirsync.name_of('zh-CN', 'operation', operation) as operation_name,
       field, dirsync.name_of('zh-CN', 'field', field) as field_name,
       category, dirsync.name_of('zh-CN', 'category', category) as category_name,
       platform_code, dirsync.in_language('zh-CN', message) as message,
       dirsync.in_language('zh-CN', remedy) as remedy,
       blocked_by, occurrences, first_failed_at, last_failed_at,
       state, dirsync.name_of('zh-CN', 'state', state) as state_name, next_retry_at, swap_id
from dirsync.failure;

comment on view dirsync.failed_syncs_zh is
  '待处理的同步失败：与 failed_syncs 相同，名称、说明和处理建议为中文。处理用 dirsync.retry(id)、ignore(id, reason)、'
  'snooze(id, until, reason)。退款和充值没有 id，请按处理建议操作。';

-- The columns are those of failed_syncs, with the same comments but for what is in Chinese.
do $$
declare
  same record;
begin
  for same in
    select v.attname, col_description(f.attrelid, f.attnum) as text
    from pg_attribute v
    join pg_attribute f on f.attname = v.attname and f.attrelid = 'dirsync.failed_syncs'::regclass
    where v.attrelid = 'dirsync.failed_syncs_zh'::regclass and v.attnum > 0
  loop
    execute format('comment on column dirsync.failed_syncs_zh.%I is %L', same.attname, same.text);
  end loop;
end $$;
comment on column dirsync.failed_syncs_zh.entity_name is '对象：entity 的中文名称。';
comment on column dirsync.failed_syncs_zh.operation_name is '操作：operation 的中文名称。';
comment on column dirsync.failed_syncs_zh.field_name is '字段：field 的中文名称。';
comment on column dirsync.failed_syncs_zh.category_name is '类别：category 的中文名称。';
comment on column dirsync.failed_syncs_zh.state_name is '状态：state 的中文名称。';
comment on column dirsync.failed_syncs_zh.message is '发生了什么。';
comment on column dirsync.failed_syncs_zh.remedy is '处理建议。';

-- Only the owner may call a function of this schema, and the reviewer where migrate grants it.
-- A function of a later migration needs a revoke of its own.
revoke execute on all functions in schema dirsync from public;
