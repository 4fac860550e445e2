// Package jobspec is the stored request of a fleet job.
//
// The command line and the API store the same document: the seeds as they were
// written, and the requested settings, by the keys of package config. The worker reads
// it on top of its own settings.
//
// Reading has the same result everywhere: what the API rejects, `headway job submit`
// rejects with the same message. Permissions are not checked here: the API refuses
// settings for owned hosts unless the hosts are the tenant's; anyone with access to
// the database may submit them, and workers still apply them to owned hosts only.
package jobspec

import (
	"cmp"
	"encoding/json"
	"fmt"

	"headway/answer"
	"headway/fetch"
	"headway/internal/config"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// Spec is the document.
type Spec struct {
	Seeds    []string     `json:"seeds"`
	Settings config.Asked `json:"settings,omitempty"`
	DryRun   bool         `json:"dry_run,omitempty"` // read robots.txt and sitemaps, and fetch no page
}

// Read parses a stored document.
func Read(text []byte) (Spec, error) {
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read job settings: %w", err)
	}
	return s, nil
}

// Request is a requested job.
type Request struct {
	Spec
	Tenant string
	Name   string // for people; empty for the host of the first seed
}

// Job makes the job to store, with the settings that [config.LoadJob] read for the
// request.
func (r *Request) Job(set *config.Settings) (store.Job, error) {
	from, err := ReadSeeds(r.Seeds)
	if err != nil {
		return store.Job{}, err
	}
	if _, err := set.Policy(); err != nil {
		return store.Job{}, &Error{Err: err, Hint: "headway config shows every setting and where it was set"}
	}
	text, err := json.Marshal(r.Spec)
	if err != nil {
		return store.Job{}, err
	}
	name := r.Name
	if name == "" {
		name = from.URLs[0].Host()
	}
	j := store.Job{
		Tenant: r.Tenant, Name: name, State: job.Queued, Spec: text,
		// Limits of the other layers are applied when the job starts.
		MaxPages: set.Limits.Pages, Layers: []limit.Layer{{Level: limit.Job, Limits: set.Limits}},
	}
	asked, err := r.Asked(set, &j)
	if err == nil {
		err = asked.Check()
	}
	if err != nil {
		return store.Job{}, &Error{Err: err, Hint: "use a glob such as /blog/**, or re: followed by a regular expression; a scope host is a name such as example.com"}
	}
	return j, nil
}

// Asked is the request of a job as package answer explains it, with the settings that
// were read for the spec.
func (s *Spec) Asked(set *config.Settings, j *store.Job) (answer.CrawlSpec, error) {
	policy, err := set.Policy()
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	from, err := ReadSeeds(s.Seeds)
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	who := Who(set)
	asked := answer.CrawlSpec{
		Scope: set.Scope, ScopeHosts: set.ScopeHosts, Include: set.Include, Exclude: set.Exclude, Files: set.Files, Preset: set.Preset, Sitemaps: set.Sitemaps, Content: set.Content, Extract: set.Extract.String(), Links: set.Links,
		MaxWaiting: set.Frontier.MaxWaiting, UserAgent: who.UserAgent, Contact: who.Contact, Token: who.Token, Policy: policy, Owned: set.Owned, AllowPrivate: set.AllowPrivate,
	}
	asked.SetSeeds(from.URLs)
	asked.SetLimits(j.Limits())
	return asked, nil
}

// Who is the user agent and the contact of the crawls of a server with these settings.
func Who(set *config.Settings) answer.Who {
	product, version := set.Product()
	product = cmp.Or(product, "headway") // the default user agent
	id := fetch.Identity{Product: product, Version: version, Contact: set.Contact}
	return answer.Who{UserAgent: id.UserAgent(), Contact: id.Contact, Token: product}
}

// Error is an invalid request, with a hint.
type Error struct {
	Err  error
	Hint string
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
