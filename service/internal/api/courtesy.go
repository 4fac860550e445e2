package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/ask"
	"headway/internal/jobspec"
	"headway/store"
)

// Bounds of a receipt.
const (
	maxReceiptJobs = 1000    // the newest ones, for one host
	maxReceiptURLs = 500_000 // that are counted
)

// OneHost names a host in a query.
type OneHost struct {
	Host string `query:"host" required:"true" minLength:"1" maxLength:"300" doc:"Scheme and hostname, and the port if it is not the default of the scheme." example:"https://example.com"`
}

func (a *API) registerCourtesy() {
	tags := []string{"hosts"}
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "get-courtesy", Method: http.MethodGet, Path: "/v1/hosts/courtesy", Tags: tags, Summary: "Get the courtesy receipt of a host: how all jobs crawled it, and how to slow or stop the crawler",
		Description: fmt.Sprintf("The receipt is written for the webmaster, from records made at the time. Values of query parameters that look secret are redacted. It covers the newest %d jobs and counts up to %d URLs; notes says if there are more.", maxReceiptJobs, maxReceiptURLs),
	}, a.getCourtesy)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-courtesy-of-job", Method: http.MethodGet, Path: "/v1/jobs/{job}/courtesy", Tags: tags, Summary: "Get the courtesy receipt of a host for one job",
		Description: "Counts only requests of this job.",
	}, a.getJobCourtesy, NotFound)
}

// courtesyInput names a host of a job.
type courtesyInput struct {
	OneJob
	OneHost
}

func (a *API) getJobCourtesy(ctx context.Context, in *courtesyInput) (*struct{ Body answer.Receipt }, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	c, err := a.crawlOf(&j)
	if err != nil {
		return nil, err
	}
	q := answer.ReceiptQuestion{Host: in.Host, Since: j.CreatedAt, Own: true, Who: answer.Who{UserAgent: c.Spec.UserAgent, Contact: c.Spec.Contact, Token: c.Spec.Token}}
	return a.receipt(ctx, q, c)
}

func (a *API) getCourtesy(ctx context.Context, in *OneHost) (*struct{ Body answer.Receipt }, error) {
	set, err := a.settings(nil)
	if err != nil {
		return nil, err
	}
	jobs, err := a.store.FindJobs(ctx, store.JobQuery{All: true, Max: maxReceiptJobs + 1})
	if err != nil {
		return nil, err
	}
	q := answer.ReceiptQuestion{Host: in.Host, Who: jobspec.Who(set), Older: len(jobs) > maxReceiptJobs}
	jobs = jobs[:min(len(jobs), maxReceiptJobs)]
	var crawls []*answer.Crawl
	for i := range jobs {
		c, err := a.crawlOf(&jobs[i])
		if err != nil { // stored under other settings: its requests still count
			a.log.WarnContext(ctx, "cannot read job settings", "job", jobs[i].ID, "err", err)
			c = &answer.Crawl{Store: a.store, Job: jobs[i], Fleet: true}
		}
		crawls = append(crawls, c)
	}
	return a.receipt(ctx, q, crawls...)
}

// receipt writes a receipt.
func (a *API) receipt(ctx context.Context, q answer.ReceiptQuestion, crawls ...*answer.Crawl) (*struct{ Body answer.Receipt }, error) {
	if err := checkHost(q.Host); err != nil {
		return nil, err
	}
	orders, err := a.store.HostOrders(ctx, q.Host, answer.MaxOrders)
	if err != nil {
		return nil, err
	}
	for i := range orders {
		o := &orders[i]
		q.Orders = append(q.Orders, ask.Change{At: o.At, Order: ask.Kind(o.What), Host: o.Host, Before: o.Before, After: o.After})
	}
	q.Now, q.MaxURLs = time.Now().UTC(), maxReceiptURLs
	r, err := answer.ReadReceipt(ctx, q, crawls...)
	if err != nil {
		return nil, err
	}
	return &struct{ Body answer.Receipt }{*r}, nil
}
