package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/postgres"
)

func jobCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Ask a fleet for crawls, and see and change how they stand",
		Long: `Jobs are what a fleet of headway worker crawls for. These commands speak to its
PostgreSQL; HEADWAY_FLEET_STORE saves repeating --store.`,
	}
	cmd.AddCommand(
		jobSubmitCommand(), jobListCommand(), jobShowCommand(), jobExtendCommand(),
		jobPlanCommand(), jobWhyCommand(), jobSlowCommand(), jobHostsCommand(),
		jobOrderCommand("pause", "Start no further request of a job; it keeps its place", job.Running, job.Paused),
		jobOrderCommand("resume", "Go on with a job that was paused", job.Paused, job.Running),
		jobOrderCommand("drain", "Let what is in flight finish and end the job there", job.Running, job.Draining),
		jobOrderCommand("cancel", "End a job at once; what was fetched is kept", "", job.Cancelled),
	)
	return cmd
}

// inFleet opens the store for one command.
func inFleet(cmd *cobra.Command, do func(ctx context.Context, s *config.Settings, st *postgres.Store) error) error {
	settings, _, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return usage(err, hintOf(err))
	}
	st, err := openFleet(cmd.Context(), settings, store.Terms{}, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	return do(cmd.Context(), settings, st)
}

func jobSubmitCommand() *cobra.Command {
	var name, tenant string
	var asJSON, dry bool
	cmd := &cobra.Command{
		Use:   "submit SEED…",
		Short: "Ask for a crawl",
		Long: `Ask the fleet for a crawl of the seeds. It waits in the queue until there is a
place for it, and then runs on all workers. The number that is printed names it.

With --dry-run robots.txt and sitemaps are read and no page is fetched; headway job
plan tells then how the crawl would go.`,
		Example: `  headway job submit https://example.com --max-pages 1000
  headway job submit --seeds hosts.txt --scope domain --tenant acme`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, s *config.Settings, st *postgres.Store) error {
				run := crawlRun{set: s, in: cmd.InOrStdin()}
				if err := run.readSeeds(args); err != nil {
					return err
				}
				request := jobspec.Request{Spec: jobspec.Spec{Settings: config.AskedBy(cmd.Flags()), DryRun: dry}, Tenant: tenant, Name: name}
				for _, u := range run.seeds.urls {
					request.Seeds = append(request.Seeds, u.String())
				}
				if len(args) > 0 && s.SeedsFile == "" {
					request.Seeds = args // as they were written: a bare host may fall back to http
				}
				j, err := request.Job(s)
				if bad, ok := errors.AsType[*jobspec.Error](err); ok {
					return usage(bad.Err, bad.Hint)
				}
				if err != nil {
					return failed(err, "")
				}
				j.CreatedAt = time.Now().UTC()
				id, err := st.CreateJob(ctx, j)
				if err != nil {
					return failed(err, "")
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"job": id})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d is queued; headway job show %d tells how it stands\n", id, id)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` for people; by default the host of the first seed")
	cmd.Flags().StringVar(&tenant, "tenant", "", "`who` asks: tenants take turns")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "read robots.txt and sitemaps and fetch no page")
	config.RegisterJob(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func readJob(ctx context.Context, st store.Store, j store.Job) (answer.Job, error) {
	row, err := answer.ReadJob(ctx, st, &j)
	if err != nil {
		return row, failed(err, "")
	}
	return row, nil
}

func jobListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs of the fleet",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				rows := []answer.Job{}
				for after := job.ID(0); ; {
					list, err := st.JobList(ctx, after, store.MaxPage)
					if err != nil {
						return failed(err, "")
					}
					for i := range list {
						row, err := readJob(ctx, st, list[i])
						if err != nil {
							return err
						}
						rows = append(rows, row)
						after = list[i].ID
					}
					if len(list) < store.MaxPage {
						break
					}
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"jobs": rows})
				}
				return printJobs(cmd.OutOrStdout(), rows)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printJobs(w io.Writer, rows []answer.Job) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no jobs; headway job submit asks for one")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "JOB\tNAME\tTENANT\tSTATE\tPAGES\tWAITING\tCREATED\tENDED")
	for i := range rows {
		r := &rows[i]
		state := string(r.State)
		if r.Reason != "" {
			state += ": " + oneLine(r.Reason)
		}
		fmt.Fprintf(tab, "%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", r.Job, oneLine(r.Name), oneLine(r.Tenant), state, r.Pages, r.Waiting, shortTime(r.Created), shortTime(r.Ended))
	}
	return tab.Flush()
}

// jobNumber reads the number of a job.
func jobNumber(arg string) (job.ID, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return 0, usage(fmt.Errorf("%q is no number of a job", arg), "headway job list names them")
	}
	return job.ID(n), nil
}

// findJob reads one job.
func findJob(ctx context.Context, st store.Store, arg string) (store.Job, error) {
	id, err := jobNumber(arg)
	if err != nil {
		return store.Job{}, err
	}
	j, err := st.Job(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return j, usage(fmt.Errorf("there is no job %d", id), "headway job list names them")
	}
	if err != nil {
		return j, failed(err, "")
	}
	return j, nil
}

func jobShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Tell how a job stands",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				j, err := findJob(ctx, st, args[0])
				if err != nil {
					return err
				}
				row, err := readJob(ctx, st, j)
				if err != nil {
					return err
				}
				limits, err := answer.ReadJobLimits(ctx, st, &j)
				if err != nil {
					return failed(err, "")
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), struct {
						answer.Job
						answer.JobLimits
					}{row, limits})
				}
				if err := printJobs(cmd.OutOrStdout(), []answer.Job{row}); err != nil {
					return err
				}
				if err := printOutcomes(cmd.OutOrStdout(), row.Outcomes); err != nil {
					return err
				}
				return printLimits(cmd.OutOrStdout(), &limits)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printOutcomes lists how URLs ended, the most frequent first.
func printOutcomes(w io.Writer, outcomes map[string]int64) error {
	if len(outcomes) == 0 {
		return nil
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab)
	for _, key := range slices.SortedFunc(maps.Keys(outcomes), func(a, b string) int {
		return cmp.Or(cmp.Compare(outcomes[b], outcomes[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(tab, "%s\t%d\n", key, outcomes[key])
	}
	return tab.Flush()
}

// jobOrderCommand moves a job to another state; from any where none is named.
func jobOrderCommand(name, short string, from, to job.State) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " JOB",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				j, err := findJob(ctx, st, args[0])
				if err != nil {
					return err
				}
				is := j.State
				if from != "" && is != from {
					return usage(fmt.Errorf("job %d is %s", j.ID, is), fmt.Sprintf("only a job that is %s can be changed so", from))
				}
				if err := job.Check(is, to); err != nil {
					return usage(err, fmt.Sprintf("headway job show %d tells how it stands", j.ID))
				}
				if err := st.SetState(ctx, time.Now().UTC(), j.ID, is, to, "by an operator"); err != nil {
					return failed(err, "try again")
				}
				if err := logJobOrder(ctx, st, j, name, string(is), string(to)); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d: %s, was %s\n", j.ID, to, is)
				return err
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	return cmd
}

func jobExtendCommand() *cobra.Command {
	var pages int64
	cmd := &cobra.Command{
		Use:   "extend JOB --max-pages N",
		Short: "Go on with a job that a page limit stopped",
		Long: `Give a job another page limit. What was put off waits again, and a job that had
ended queues for a place. Safety and the plan of the tenant cap it as they do at first,
and the answer says so; they are asked again when the job gets its place.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				j, err := findJob(ctx, st, args[0])
				if err != nil {
					return err
				}
				if err := st.Extend(ctx, time.Now().UTC(), j.ID, pages); err != nil {
					return usage(err, fmt.Sprintf("headway job show %d tells how it stands", j.ID))
				}
				if j.State == job.Partial {
					if err := st.SetState(ctx, time.Now().UTC(), j.ID, job.Partial, job.Queued, "extended"); err != nil {
						return failed(err, "try again")
					}
				}
				was := j.Limits().Of(limit.Pages)
				if j, err = st.Job(ctx, j.ID); err != nil {
					return failed(err, "")
				}
				if err := logJobOrder(ctx, st, j, "extend", was.String(), j.Limits().Of(limit.Pages).String()); err != nil {
					return err
				}
				if got := j.Limits().Of(limit.Pages); got.Capped() || pages == 0 {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d: %s\n", j.ID, got)
				} else {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d may have %d pages\n", j.ID, pages)
				}
				return err
			})
		},
	}
	cmd.Flags().Int64Var(&pages, "max-pages", 0, "new limit of pages; 0 is none")
	config.RegisterStore(cmd.Flags())
	return cmd
}
