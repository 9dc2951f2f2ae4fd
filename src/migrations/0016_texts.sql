-- What operators read, for SQL: the catalogue of texts, and the view that a reviewer reads first.

create table dirsync.text (
  language   text not null,
  key        text not null,
  text       text not null,
  position   integer,
  prefix     text,
  literal    text,
  pattern    text,
  parameters text[],
  primary key (language, key)
);
create index text_sentence on dirsync.text (position) where position is not null;

comment on table dirsync.text is
  'The texts that operators read, by language: written anew at each migrate and start, from the catalogue '
  'of the version that ran it. Changing a row changes nothing for long.';
comment on column dirsync.text.language is 'en or zh-CN.';
comment on column dirsync.text.key is
  'Name of the text: what it is a name of, a dot, and the value, such as category.duplicate_mobile.';
comment on column dirsync.text.text is 'The text, with parameters in braces.';
comment on column dirsync.text.position is
  'Of an English sentence that dirsync stores in a message or remedy: its place when one is looked for.';
comment on column dirsync.text.prefix is
  'Of such a sentence: what stands before its first parameter; all of it where it has none.';
comment on column dirsync.text.literal is
  'Of such a sentence: its longest part without a parameter. A text without it does not hold the sentence.';
comment on column dirsync.text.pattern is
  'Of such a sentence: a regular expression for a text that begins with it; null where its prefix is enough.';
comment on column dirsync.text.parameters is 'The names of the groups in pattern, in their order.';

create function dirsync.name_of(language text, list text, value text) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce((select t.text from dirsync.text t
                   where t.language = name_of.language and t.key = list || '.' || value), value)
$$;
comment on function dirsync.name_of is
  'The name of a value in a language, such as name_of(''zh-CN'', ''state'', ''open''); the value itself '
  'where the catalogue has no name for it.';

create function dirsync.in_language(language text, stored text) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  said      text := '';
  rest      text := stored;
  found_one record;
  given     text[];
  sentence  text;
  value     text;
  between   text;
begin
  if in_language.language = 'en' then
    return stored;
  end if;
  loop
    -- Regular expressions are slow: prefix and literal leave few of them.
    select e.prefix, e.pattern, e.parameters, t.text into found_one
    from dirsync.text e
    join dirsync.text t on t.language = in_language.language and t.key = e.key
    where e.position is not null and starts_with(rest, e.prefix) and strpos(rest, e.literal) > 0
      and case when e.pattern is not null then rest ~ e.pattern
               when e.parameters <> '{}' then length(rest) > length(e.prefix)
               when right(e.prefix, 1) = '.' then substr(rest, length(e.prefix) + 1, 1) in ('', ' ')
               else substr(rest, length(e.prefix) + 1, 2) in ('', '.', '; ', ', ', '. ', ': ')
          end
    order by e.position limit 1;
    if not found then
      return said || rest;
    end if;

    given := case when found_one.pattern is not null then regexp_match(rest, found_one.pattern)
                  when found_one.parameters <> '{}'
                  then array[rest, substr(rest, length(found_one.prefix) + 1)]
                  else array[found_one.prefix] end;
    sentence := found_one.text;
    for i in 1 .. coalesce(cardinality(found_one.parameters), 0) loop
      value := given[i + 1];
      value := case found_one.parameters[i]
        when 'field' then dirsync.name_of(in_language.language, 'field', value)
        when 'category' then dirsync.name_of(in_language.language, 'category', value)
        when 'kind' then dirsync.name_of(in_language.language, 'run_kind', value)
        when 'operation' then dirsync.name_of(in_language.language, 'call', value)
        when 'columns' then
          (select string_agg(dirsync.name_of(in_language.language, 'field', c.name), '、' order by c.place)
           from unnest(string_to_array(value, ', ')) with ordinality as c (name, place))
        when 'what' then coalesce(
          (select dirsync.name_of(in_language.language, 'field', split_part(e.key, '.', 2))
           from dirsync.text e
           where e.language = 'en' and starts_with(e.key, 'field.') and e.text = value limit 1), value)
        else value
      end;
      sentence := replace(sentence, '{' || found_one.parameters[i] || '}', value);
    end loop;
    said := said || sentence;
    rest := substr(rest, length(given[1]) + 1);

    between := case when left(rest, 2) in ('; ', ', ', '. ', ': ') then left(rest, 2)
                    when left(rest, 1) = ' ' then ' ' else '' end;
    if between = '' or rest = between then
      return said || case when rest = '.' then '。' else rest end;
    end if;
    said := said || case between when '; ' then '；' when ', ' then '，' when '. ' then '。'
                                 when ': ' then '：' else '' end;
    rest := substr(rest, length(between) + 1);
  end loop;
end $$;
comment on function dirsync.in_language is
  'A message or remedy as dirsync stores it, in a language, as far as the catalogue has its sentences; the '
  'rest stays as it is. src/texts/failures.ts does the same for console and shell, held to this by a test.';

create view dirsync.failed_syncs as
select *
from (
  select id, enterprise_code, entity, entity_key, operation, nullif(field, '') as field, category,
         platform_code, message, remedy, blocked_by, occurrences, first_failed_at, last_failed_at, state,
         next_retry_at, swap_id
  from dirsync.dead_letter
  where state not in ('resolved', 'ignored')
  union all
  select null, enterprise_code, 'refund', outer_refund_no, 'send-refund', null, 'outcome_unknown',
         platform_code, coalesce(message, 'whether it was carried out is unknown'),
         case when waits
              then 'Find out from the vendor whether it was carried out, then: dirsync refund resolve '
                   || outer_refund_no || ' --as accepted (or rejected) --reason "…"'
              else 'Nothing for now: the service asks the order record by itself. '
                   'To ask at once: dirsync refund settle ' || outer_refund_no
         end,
         null, 1, sent_at, sent_at, case when waits then 'open' else 'retry_scheduled' end,
         next_settle_at, null::bigint
  from dirsync.refund,
       lateral (select next_settle_at is null or left_to_person_at is not null as waits) as person
  where state = 'unknown'
  union all
  select null, enterprise_code, 'topup', external_code, 'send-topup', null, 'outcome_unknown',
         platform_code, coalesce(message, 'whether it was carried out is unknown'),
         'See in the platform''s back office whether it is there, then: dirsync topup resolve '
         || external_code || ' --as accepted (or rejected) --reason "…"',
         null, 1, sent_at, sent_at, 'open', null, null
  from dirsync.topup
  where state = 'unknown'
) as failed
order by state <> 'open', last_failed_at desc, id desc;

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
comment on column dirsync.failed_syncs.operation is
  'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, '
  'mirror-taxpayers; or send-refund, send-topup.';

-- The outer select keeps the order of the view below it, and says in Chinese only what is read.
create view dirsync.failed_syncs_zh as
select id, enterprise_code, entity, dirsync.name_of('zh-CN', 'entity', entity) as entity_name, entity_key,
       operation, dirsync.name_of('zh-CN', 'operation', operation) as operation_name,
       field, dirsync.name_of('zh-CN', 'field', field) as field_name,
       category, dirsync.name_of('zh-CN', 'category', category) as category_name,
       platform_code, dirsync.in_language('zh-CN', message) as message,
       dirsync.in_language('zh-CN', remedy) as remedy,
       blocked_by, occurrences, first_failed_at, last_failed_at,
       state, dirsync.name_of('zh-CN', 'state', state) as state_name, next_retry_at, swap_id
from dirsync.failed_syncs;

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
