-- Maps HR's tables to employees: the columns are the platform's field names.
-- dirsync validates and normalises what comes out (trimming, full-width digits, lengths, dates, check digits).

with present as (
  -- Someone who came back has several employments: the one that has not ended counts, else the last one.
  select distinct on (person_id, company) *
  from hr.employment
  order by person_id, company, left_on desc nulls first
)
select
  e.company                                as enterprise_code,
  p.staff_id                               as userid,
  e.status <> 'L'                          as active,
  greatest(p.changed_at, e.changed_at, u.changed_at, m.changed_at, w.changed_at) as updated_at,

  case p.name_order
    when 'F' then p.family_name || ' ' || p.given_name
    else p.given_name || ' ' || p.family_name
  end                                      as name,
  e.work_number                            as corp_code,
  case p.sex when 'M' then 1 when 'F' then 2 else 3 end as gender,
  case p.id_kind when 'ID' then 1 when 'PP' then 2 end as card_type,
  p.id_number                              as card_no,
  w.value                                  as email,

  -- '+86 100 0001 0001' and '0086-10000010001' tell the area code; a number without prefix is a mainland one.
  case when m.value is not null
    then coalesce(substring(m.value from '^(?:\+|00)([0-9]{1,4})[ -]'), '86')
  end                                      as mobile_area,
  regexp_replace(regexp_replace(m.value, '^(?:\+|00)[0-9]{1,4}[ -]', ''), '[ ().-]', '', 'g') as mobile,

  p.note                                   as remark,
  u.code                                   as dept_code,
  e.grade                                  as level,
  nullif(array_to_string(e.staff_groups, ','), '') as category,
  p.birth_date                             as birth_day,
  e.hired_on                               as entry_day,
  substring(e.cost_center from 4)::integer as cost_center_id,
  a.attributes                             as employee_attribute
from hr.person p
join present e using (person_id)
join hr.org_unit u using (unit_id)
left join hr.contact m on m.person_id = p.person_id and m.kind = 'mobile'
left join hr.contact w on w.person_id = p.person_id and w.kind = 'work_email'
cross join lateral (
  -- A regular contract is the platform's default and is not sent; without attributes the aggregate is null.
  select jsonb_agg(jsonb_build_object('attributeCode', code, 'attributeValue', value) order by code) as attributes
  from (values
    ('contract_nature', case e.contract_kind
      when 'T' then 'temporary employee'
      when 'I' then 'intern'
      when 'H' then 'part-time employee'
      when 'O' then 'outsourced employee'
    end),
    ('taxpayer_ownership', e.taxpayer_ref)
  ) as attribute (code, value)
  where value is not null
) a
