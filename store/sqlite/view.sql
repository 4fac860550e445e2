select {j} as job, h.host || u.path as url, h.host as host, coalesce(e.outcome, 'pending') as outcome, coalesce(e.reason, '') as reason, o.status as status,
    u.depth as depth, case typeof(u.via) when 'integer' then vh.host || v.path else u.via end as found_on,
    case u.found when 1 then 'seed' when 2 then 'link' when 3 then 'sitemap' else 'redirect' end as found_by,
    coalesce(o.attempt, 0) as attempts, o.visit ->> '$.page.title' as title, o.visit ->> '$.answer.content_type' as content_type,
    o.visit ->> '$.answer.decoded_bytes' as bytes, (o.visit ->> '$.timing.total') / 1000000 as ms,
    strftime('%Y-%m-%dT%H:%M:%SZ', u.seen_at / 1000, 'unixepoch') as seen_at, strftime('%Y-%m-%dT%H:%M:%SZ', o.ended_at / 1000, 'unixepoch') as ended_at,
    o.visit as visit
from url_{j} u join host h on h.id = u.host left join outcome_{j} o on o.id = u.id left join ending e on e.id = o.ending
    left join url_{j} v on v.id = u.via left join host vh on vh.id = v.host
