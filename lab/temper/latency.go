package temper

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Latency is a distribution of delays; the zero value has none. Its text forms are
// "none", "const:20ms", "uniform:5ms-50ms" and "lognormal:20ms,0.8" (median and sigma).
type Latency struct {
	text  string
	low   time.Duration // constant, lower bound or median
	high  time.Duration // upper bound if uniform
	sigma float64       // if lognormal
}

// ParseLatency parses the text form of a latency.
func ParseLatency(s string) (Latency, error) {
	kind, arg, _ := strings.Cut(s, ":")
	l := Latency{text: s}
	var err error
	switch kind {
	case "", "none":
		return Latency{}, nil
	case "const":
		l.low, err = parseWait(arg)
		l.high = l.low
	case "uniform":
		low, high, ok := strings.Cut(arg, "-")
		if !ok {
			return Latency{}, fmt.Errorf("latency %q: uniform needs low-high", s)
		}
		if l.low, err = parseWait(low); err == nil {
			l.high, err = parseWait(high)
		}
		if err == nil && l.high < l.low {
			err = errors.New("the upper bound is below the lower")
		}
	case "lognormal":
		median, sigma, ok := strings.Cut(arg, ",")
		if !ok {
			return Latency{}, fmt.Errorf("latency %q: lognormal needs median,sigma", s)
		}
		if l.low, err = parseWait(median); err == nil {
			l.sigma, err = strconv.ParseFloat(sigma, 64)
		}
		if err == nil && !(l.sigma >= 0 && l.sigma <= maxSigma) {
			err = fmt.Errorf("sigma must be between 0 and %d", maxSigma)
		}
	default:
		err = errors.New("unknown kind; use none, const, uniform or lognormal")
	}
	if err != nil {
		return Latency{}, fmt.Errorf("latency %q: %w", s, err)
	}
	return l, nil
}

// maxSigma limits the spread of a lognormal latency: beyond it a value may overflow a
// duration.
const maxSigma = 3

func parseWait(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("the wait must not be negative")
	}
	return d, err
}

// Constant returns a constant latency.
func Constant(d time.Duration) Latency {
	return Latency{text: "const:" + d.String(), low: d, high: d}
}

// String returns the text form.
func (l Latency) String() string {
	if l.text == "" {
		return "none"
	}
	return l.text
}

// Set parses the text form; with String and Type, Latency is a flag value.
func (l *Latency) Set(s string) error {
	next, err := ParseLatency(s)
	if err == nil {
		*l = next
	}
	return err
}

// Type names the value in command help.
func (l *Latency) Type() string { return "latency" }

// draw returns one random delay.
func (l *Latency) draw(pcg *rand.PCG) time.Duration {
	switch {
	case l.sigma > 0:
		return time.Duration(float64(l.low) * math.Exp(l.sigma*rand.New(pcg).NormFloat64()))
	case l.high > l.low:
		return l.low + time.Duration(rand.New(pcg).Int64N(int64(l.high-l.low)))
	default:
		return l.low
	}
}
