package fleet

import (
	"fmt"
	"io"

	"headway/answer"
	"headway/internal/cli/command"
)

// printLimits tells the limits of a job, and what was told of them.
func printLimits(w io.Writer, l *answer.JobLimits) error {
	_, err := fmt.Fprintln(w)
	for _, c := range l.Ceilings {
		if err == nil {
			_, err = fmt.Fprintf(w, "limit: %s\n", c.Text)
		}
	}
	for _, text := range l.Warnings {
		if err == nil {
			_, err = fmt.Fprintf(w, "warning: %s\n", command.OneLine(text))
		}
	}
	for i := range l.Errors {
		if err == nil {
			_, err = fmt.Fprintf(w, "error: %s\n", command.OneLine(l.Errors[i].Text))
		}
	}
	return err
}
