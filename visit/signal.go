package visit

import "strconv"

// Signal is a statement of a site on what a page may be used for, such as training AI models.
// It never changes what is fetched.
type Signal struct {
	Source   SignalSource `json:"source"`
	Line     int          `json:"line,omitempty"`     // in robots.txt
	Text     string       `json:"text"`               // as written, with the name of its field
	Training Training     `json:"training,omitempty"` // what it says about training AI models
}

// SignalSource is where a signal was found.
type SignalSource string

// The sources of signals.
const (
	SignalRobots SignalSource = "robots.txt"
	SignalHeader SignalSource = "header"
	SignalMeta   SignalSource = "meta"
)

// Training is a position on training AI models; empty if nothing is said.
type Training string

// The positions.
const (
	TrainingRefused   Training = "refused"
	TrainingPermitted Training = "permitted"
)

// String is the signal in one line, with its place.
func (s Signal) String() string {
	if s.Line > 0 {
		return string(s.Source) + " line " + strconv.Itoa(s.Line) + ": " + s.Text
	}
	return string(s.Source) + ": " + s.Text
}

// Training is the position of all signals of a page: one refusal counts more than any
// number of permissions.
func (p *Page) Training() (is Training) {
	for i := range p.Signals {
		switch p.Signals[i].Training {
		case TrainingRefused:
			return TrainingRefused
		case TrainingPermitted:
			is = TrainingPermitted
		}
	}
	return is
}
