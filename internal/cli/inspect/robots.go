package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/robots"
	"headway/weburl"
)

// RobotsCommand builds `headway robots`.
func RobotsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "robots",
		Short: "Test URLs against a robots.txt",
	}
	cmd.AddCommand(robotsCheckCommand())
	return cmd
}

func robotsCheckCommand() *cobra.Command {
	var agent string
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "check FILE|- URL…",
		Short: "Show which URLs a robots.txt allows, and by which line",
		Long: `Read a robots.txt from a file, or from standard input with -, and show for each
URL whether the agent may fetch it and which line decided, according to RFC
9309.

Only path and query of a URL are compared; the host is not checked. Exit code 0
means all URLs are allowed, 4 that at least one is not.`,
		Example: `  headway robots check robots.txt https://example.com/cart
  headway robots check - https://example.com/a --agent mybot < robots.txt`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := readRobots(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			answer, err := checkRobots(file, agent, args[1:])
			if err != nil {
				return err
			}
			if asJSON {
				err = command.PrintJSON(cmd.OutOrStdout(), answer)
			} else {
				err = answer.print(cmd.OutOrStdout(), wide)
			}
			if err == nil && answer.Blocked > 0 {
				return &command.Failure{Code: command.ExitBlocked}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&agent, "agent", command.Product, "crawler to test as, by its product `token`")
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

// readRobots reads as much of a file as robots.txt may have.
func readRobots(name string, stdin io.Reader) (*robots.File, error) {
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, command.Usage(err, "give the path of a robots.txt file, or - for standard input")
		}
		defer f.Close()
		from = f
	}
	body, err := io.ReadAll(io.LimitReader(from, robots.MaxBytes+1))
	if err != nil {
		return nil, command.Usage(fmt.Errorf("read robots.txt: %w", err), "give the path of a robots.txt file, or - for standard input")
	}
	return robots.Parse(body), nil
}

// robotsAnswer is what `headway robots check` says.
type robotsAnswer struct {
	Agent    string          `json:"agent"`
	Group    string          `json:"group,omitempty"`
	Delay    *float64        `json:"crawl_delay_seconds,omitempty"`
	TooLong  bool            `json:"crawl_delay_too_long,omitempty"`
	Sitemaps []string        `json:"sitemaps,omitempty"`
	SHA256   string          `json:"sha256"`
	Blocked  int             `json:"blocked"`
	Verdicts []robotsVerdict `json:"verdicts"`
}

type robotsVerdict struct {
	URL     string        `json:"url"`
	Allowed bool          `json:"allowed"`
	Reason  robots.Reason `json:"reason"`
	Rule    string        `json:"rule,omitempty"`
	Line    int           `json:"line,omitempty"`
}

func checkRobots(file *robots.File, agent string, urls []string) (robotsAnswer, error) {
	answer := robotsAnswer{Agent: agent, SHA256: file.Sum().String()}
	for s := range file.Sitemaps() {
		answer.Sitemaps = append(answer.Sitemaps, s)
	}
	for _, raw := range urls {
		u, err := weburl.Parse(raw)
		if err != nil {
			hint := urlHint(err)
			if bad, ok := errors.AsType[*weburl.Error](err); ok && bad.Code == weburl.NoBase {
				hint = "give the full URL, for example https://example.com/path"
			}
			return robotsAnswer{}, command.Usage(err, hint)
		}
		d := file.Decide(agent, u)
		answer.Group = d.Group
		if d.Delayed {
			seconds := d.Delay.Seconds()
			answer.Delay, answer.TooLong = &seconds, d.Delay > robots.MaxDelay
		}
		if !d.Allowed {
			answer.Blocked++
		}
		answer.Verdicts = append(answer.Verdicts, robotsVerdict{
			URL: u.String(), Allowed: d.Allowed, Reason: d.Reason, Rule: d.Rule, Line: d.Line,
		})
	}
	return answer, nil
}

// why says in words what decided.
func (v robotsVerdict) why() string {
	switch {
	case v.Line > 0:
		return fmt.Sprintf("line %d: %s", v.Line, command.OneLine(v.Rule))
	case v.Reason == robots.NoRule:
		return "no rule matches"
	case v.Reason == robots.RobotsFile:
		return "robots.txt itself is always allowed"
	case v.Reason == robots.DelayTooLong:
		return "the Crawl-delay is too long"
	default:
		return string(v.Reason)
	}
}

func (a robotsAnswer) print(w io.Writer, wide bool) error {
	tab := command.NewTable("", "~", "~")
	for _, v := range a.Verdicts {
		word := "allowed"
		if !v.Allowed {
			word = "blocked"
		}
		tab.Add(word, v.URL, v.why())
	}
	if err := tab.Print(w, wide); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if a.Group == "" {
		command.PrintText(w, "no group for ", command.OneLine(a.Agent)+" or *", wide)
	} else {
		command.PrintText(w, "group ", command.OneLine(a.Group), wide)
	}
	if a.Delay != nil {
		fmt.Fprintf(w, "crawl-delay %v", time.Duration(*a.Delay*float64(time.Second)))
		if a.TooLong {
			fmt.Fprintf(w, ": above the maximum of %v, so the host would be skipped", robots.MaxDelay)
		}
		fmt.Fprintln(w)
	}
	return nil
}
