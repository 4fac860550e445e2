-- +goose Up

-- The event of a job that a limit stopped says which: the limit that is the reason of the
-- state, as noted since the job last started.
-- +goose StatementBegin
create or replace function tell_job() returns trigger language plpgsql set search_path from current as $$
begin
    insert into event (at, tenant, job, kind, body) values (
        greatest(new.created_at, new.started_at, new.ended_at, new.changed_at), new.tenant, new.id,
        case when tg_op = 'INSERT' then 'job.created' when new.state = old.state then 'job.extended' else 'job.' || new.state end,
        (jsonb_strip_nulls(jsonb_build_object('state', new.state, 'was', case when tg_op = 'UPDATE' then old.state end,
            'reason', nullif(new.reason, ''), 'name', new.name, 'max_pages', nullif(new.max_pages, 0)))
            || coalesce((select jsonb_build_object('limit', n.name, 'layer', n.layer, 'max', n.max, 'observed', n.observed, 'error', n.text)
                from notice n where new.state in ('partial', 'draining') and n.job = new.id and n.name = new.reason and n.percent = 100 and n.at >= new.started_at
                order by n.at desc limit 1), '{}'))::text);
    return null;
end $$;
-- +goose StatementEnd

-- A job is also extended by other limits than pages. New settings of the fleet are not an
-- extension.
drop trigger job_changed on job;
create trigger job_changed after update of state, max_pages, layers on job for each row
    when (old.state <> new.state or old.settings = new.settings and (old.max_pages <> new.max_pages or old.layers <> new.layers)) execute function tell_job();
