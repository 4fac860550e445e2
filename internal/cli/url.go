package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/weburl"
)

func urlCommand() *cobra.Command {
	var base string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "url RAW",
		Short: "Show the canonical form of a URL and why it has it",
		Long: `Show how Headway reads a URL: its canonical form, the host whose robots.txt and
pace apply, the registrable domain that owns it, its fingerprint, and each
change that was made with the reason for it.`,
		Example: `  headway url 'HTTPS://Example.com:443/a/../b?q=%7e#top'
  headway url '../c' --base https://example.com/a/b`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := explainURL(args[0], base)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), answer)
			}
			return answer.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "the page the link stands on, as `URL`")
	jsonFlag(cmd, &asJSON)
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
			return urlAnswer{}, usage(fmt.Errorf("base: %w", err), "--base takes an absolute URL, such as https://example.com/a/b")
		}
		from = u
	}
	u, steps, err := weburl.Explain(raw, from)
	if err != nil {
		return urlAnswer{}, usage(err, urlHint(err))
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
		return "a relative link needs --base, the URL of the page it stands on"
	case weburl.BadScheme:
		return "only http and https can be crawled"
	case weburl.TooLong:
		return fmt.Sprintf("a URL may have at most %d bytes in its canonical form", weburl.MaxLength)
	case weburl.BadPort:
		return "a port is a number from 0 to 65535"
	case weburl.BadHost:
		return "the host must be a DNS name or an IP address"
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
		fmt.Fprintln(w, "\nalready canonical: nothing was changed")
		return nil
	}
	fmt.Fprintln(w)
	for i, s := range a.Steps {
		fmt.Fprintf(w, "%2d. %s\n    %s\n", i+1, oneLine(s.Reason), oneLine(s.After))
	}
	return nil
}
