package inspect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/weburl"
)

// URLCommand builds `headway url`.
func URLCommand() *cobra.Command {
	var base string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "url URL",
		Short: "Show how a URL is normalised, and why",
		Long: `Show how Headway reads a URL: its canonical form, the host whose robots.txt and
pace apply, its registrable domain, its fingerprint, and each normalisation
with the reason for it.`,
		Example: `  headway url 'HTTPS://Example.com:443/a/../b?q=%7e#top'
  headway url '../c' --base https://example.com/a/b`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := explainURL(args[0], base)
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), answer)
			}
			return answer.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "`URL` of the page that contains the link")
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

// urlAnswer is what `headway url` says.
type urlAnswer struct {
	URL         string    `json:"url"`
	Host        string    `json:"host"`
	Domain      string    `json:"domain"`
	Fingerprint string    `json:"fingerprint"` // 128 bits under the zero key
	Steps       []urlStep `json:"steps"`
}

type urlStep struct {
	Reason string `json:"reason"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func explainURL(raw, base string) (urlAnswer, error) {
	var from weburl.URL
	if base != "" {
		u, err := weburl.Parse(base)
		if err != nil {
			return urlAnswer{}, command.Usage(fmt.Errorf("base: %w", err), "--base takes an absolute URL, for example https://example.com/a/b")
		}
		from = u
	}
	u, steps, err := weburl.Explain(raw, from)
	if err != nil {
		return urlAnswer{}, command.Usage(err, urlHint(err))
	}
	fingerprint := u.Fingerprint128(weburl.Key{})
	answer := urlAnswer{
		URL: u.String(), Host: u.Host(), Domain: u.Domain(),
		Fingerprint: hex.EncodeToString(fingerprint[:]),
		Steps:       make([]urlStep, len(steps)),
	}
	for i, s := range steps {
		answer.Steps[i] = urlStep(s)
	}
	return answer, nil
}

// urlHint says what to do about a URL that cannot be crawled.
func urlHint(err error) string {
	bad, ok := errors.AsType[*weburl.Error](err)
	if !ok {
		return ""
	}
	switch bad.Code {
	case weburl.NoBase:
		return "give the URL of the page that contains the link with --base"
	case weburl.BadScheme:
		return "use an http or https URL"
	case weburl.TooLong:
		return fmt.Sprintf("the normalised URL may have at most %d bytes", weburl.MaxLength)
	case weburl.BadPort:
		return "use a port from 0 to 65535"
	case weburl.BadHost:
		return "use a DNS name or an IP address as the host"
	}
	return ""
}

func (a urlAnswer) print(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "url\t%s\n", a.URL)
	fmt.Fprintf(tab, "host\t%s\n", a.Host)
	fmt.Fprintf(tab, "domain\t%s\n", a.Domain)
	fmt.Fprintf(tab, "fingerprint\t%s (zero key; each store has its own)\n", a.Fingerprint)
	if err := tab.Flush(); err != nil {
		return err
	}
	if len(a.Steps) == 0 {
		fmt.Fprintln(w, "\nalready normalised; nothing changed")
		return nil
	}
	fmt.Fprintln(w)
	for i, s := range a.Steps {
		fmt.Fprintf(w, "%2d. %s\n    %s\n", i+1, command.OneLine(s.Reason), command.OneLine(s.After))
	}
	return nil
}
