package inspect

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"headway/extract"
	"headway/fetch"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/politeness"
	"headway/visit"
	"headway/visitor"
	"headway/weburl"
)

// FetchCommand builds `headway fetch`.
func FetchCommand() *cobra.Command {
	var words fetchFlags
	cmd := &cobra.Command{
		Use:   "fetch URL",
		Short: "Fetch one URL and show every decision",
		Long: `Fetch one URL as a crawl would: private addresses are blocked, robots.txt is
checked, and the pace of the host and all limits apply. Then print each
decision, the response and how the page was parsed.

--text and --markdown print the main text of the page instead: without menus,
footers and what a reader does not see. With --json it is part of the answer.

--extract prints the fields that the rules of a file find on the page, to try
them before a crawl. What is cut or invalid goes to standard error.

A redirect is shown, not followed. Exit code 0 means fetched, not modified or
redirected, 1 dead, 4 blocked by robots.txt or a challenge page, 5 anything
else.`,
		Example: `  headway fetch https://example.com/ --contact you@example.com
  headway fetch https://example.com/ --contact you@example.com --markdown
  headway fetch https://example.com/ --contact you@example.com --extract r.yaml
  headway fetch http://127.1.0.1:8780/ --allow-private 127.0.0.0/8:8780`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := command.SeedURL(args[0])
			if err != nil {
				return err
			}
			if err := words.checkContent(); err != nil {
				return err
			}
			if err := words.readRules(); err != nil {
				return err
			}
			look, err := words.visit(cmd, u)
			if err != nil {
				return err
			}
			switch {
			case words.asJSON:
				err = command.PrintJSON(cmd.OutOrStdout(), lookJSON(look, words.headers, words.links))
			case words.rules != nil:
				err = words.printFields(cmd.OutOrStdout(), cmd.ErrOrStderr(), look.Visit)
			case words.alone():
				err = words.printContent(cmd.OutOrStdout(), cmd.ErrOrStderr(), look.Visit)
			default:
				err = printLook(cmd.OutOrStdout(), look, words.headers, words.links)
			}
			if err == nil {
				if code := lookCode(look.Visit); code != command.ExitOK {
					return &command.Failure{Code: code}
				}
			}
			return err
		},
	}
	fs := cmd.Flags()
	config.RegisterNetwork(fs)
	fs.StringVar(&words.preset, "preset", politeness.DefaultPreset, "politeness `preset`: "+strings.Join(politeness.PresetNames(), ", "))
	fs.BoolVar(&words.owned, "owned", false, "you own the host: allows credentials, extra headers and --ignore-robots")
	fs.BoolVar(&words.ignoreRobots, "ignore-robots", false, "ignore robots.txt; owned hosts only")
	fs.StringArrayVar(&words.header, "header", nil, "extra request header, as `name: value`; owned hosts only (repeatable)")
	fs.StringVar(&words.basicAuth, "basic-auth", "", "HTTP basic authentication, as `user:password`; owned hosts only")
	fs.BoolVar(&words.content.text, "text", false, "print the main text of the page; with --json as page.content.text")
	fs.BoolVar(&words.content.markdown, "markdown", false, "print the main text as Markdown; with --json as page.content.markdown")
	fs.StringVar(&words.extract, "extract", "", "print the fields that the rules of this YAML `file` find; with --json as page.content.fields")
	fs.BoolVar(&words.headers, "headers", false, "also print the response headers")
	fs.BoolVar(&words.links, "links", false, "also print the links found")
	command.JSONFlag(cmd, &words.asJSON)
	return cmd
}

// fetchFlags are the words of `headway fetch`.
type fetchFlags struct {
	contact      string // as the person at the terminal answered
	preset       string
	owned        bool
	ignoreRobots bool
	header       []string
	basicAuth    string
	headers      bool
	links        bool
	content      contentFlags
	extract      string // the file of rules
	rules        *extract.Rules
	asJSON       bool
}

// visit makes the visit the words ask for.
func (f *fetchFlags) visit(cmd *cobra.Command, u weburl.URL) (visitor.Look, error) {
	policy, ok := politeness.Preset(f.preset)
	if !ok {
		return visitor.Look{}, command.Usage(fmt.Errorf("invalid preset %q", f.preset), "choose one of "+strings.Join(politeness.PresetNames(), ", "))
	}
	secrets, err := f.secrets(u)
	if err != nil {
		return visitor.Look{}, err
	}
	look, err := f.visitOnce(cmd, u, policy, secrets)
	if _, ok := errors.AsType[*fetch.NoContactError](err); ok && command.IsTerminal(cmd.InOrStdin()) {
		if f.contact, err = command.AskContact(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr()); err == nil {
			look, err = f.visitOnce(cmd, u, policy, secrets)
		}
	}
	if err == nil {
		return look, nil
	}
	if cmd.Context().Err() != nil {
		return look, &command.Failure{Code: command.ExitInterrupted, Err: errors.New("interrupted"), Hint: "nothing was stored; run the command again"}
	}
	if _, ok := errors.AsType[*command.Failure](err); ok {
		return look, err
	}
	return look, command.Usage(err, command.HintOf(err))
}

func (f *fetchFlags) visitOnce(cmd *cobra.Command, u weburl.URL, policy politeness.Policy, secrets fetch.Secrets) (visitor.Look, error) {
	client, err := command.NewClient(cmd.Flags(), f.contact, cmd.ErrOrStderr())
	if err != nil {
		return visitor.Look{}, err
	}
	defer client.Close()
	v := visitor.Visitor{
		Client: client, Agent: command.Product, Policy: policy, Owned: f.owned, Secrets: secrets, IgnoreRobots: f.ignoreRobots,
		Content: f.content.options(), Extract: f.rules,
	}
	v.Robots.AllowUnreachable = policy.AllowUnreachableRobots
	return v.Visit(cmd.Context(), u)
}

// secrets reads credentials and extra fields, which only owned hosts get.
func (f *fetchFlags) secrets(u weburl.URL) (fetch.Secrets, error) {
	if len(f.header) == 0 && f.basicAuth == "" {
		return fetch.Secrets{}, nil
	}
	header := http.Header{}
	for _, h := range f.header {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return fetch.Secrets{}, command.Usage(errors.New("invalid --header: missing colon"), "write it as --header 'Name: value'")
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	user, password, ok := strings.Cut(f.basicAuth, ":")
	if f.basicAuth != "" && !ok {
		return fetch.Secrets{}, command.Usage(errors.New("invalid --basic-auth: missing colon"), "write it as --basic-auth user:password")
	}
	secrets, err := fetch.NewSecrets(u, header, user, password)
	if err != nil {
		return fetch.Secrets{}, command.Usage(err, "header names and values must be plain text on one line")
	}
	return secrets, nil
}

// lookCode is the exit code for how a visit ended.
func lookCode(v visit.Visit) int {
	switch v.Outcome {
	case visit.Fetched, visit.NotModified, visit.Redirected:
		return command.ExitOK
	case visit.Dead:
		return command.ExitDead
	case visit.Blocked:
		return command.ExitBlocked
	case visit.Skipped:
		if v.Reason == visit.RobotsDisallow || v.Reason == visit.CrawlDelayTooLong {
			return command.ExitBlocked
		}
	}
	return command.ExitFailed
}
