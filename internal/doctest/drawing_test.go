//go:build linux

package doctest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The size of a character, of a row and of the margin, in pixels.
const (
	cellWidth  = 8.4
	rowHeight  = 18
	fontSize   = 14
	margin     = 16
	barHeight  = 28
	lastScreen = 5 * time.Second // how long the last screen stays before the loop restarts
)

// drawFilm draws the frames as one animated SVG: a strip of screens behind a window.
// Each different row is drawn once.
func drawFilm(film []frame) []byte {
	width, height := columns*cellWidth+2*margin, float64(rows*rowHeight+barHeight+margin)
	end := film[len(film)-1].at + lastScreen
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="headway in a terminal">`, width, height, width, height)
	fmt.Fprintf(&b, "\n<style>text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d0d7de;white-space:pre}.b{font-weight:700}.d{opacity:.6}", fontSize)
	fmt.Fprintf(&b, "#the-film{animation:f %.2fs steps(1,end) infinite}@keyframes f{", end.Seconds())
	for i, f := range film {
		fmt.Fprintf(&b, "%.3f%%{transform:translateY(-%dpx)}", 100*f.at.Seconds()/end.Seconds(), i*rows*rowHeight)
	}
	fmt.Fprintf(&b, "}@media(prefers-reduced-motion:reduce){#the-film{animation:none;transform:translateY(-%dpx)}}</style>\n", (len(film)-1)*rows*rowHeight)

	ids := map[string]int{}
	var defs, strip bytes.Buffer
	for i, f := range film {
		for y, line := range f.lines {
			if strings.TrimSpace(escapes.ReplaceAllString(line, "")) == "" {
				continue
			}
			id, ok := ids[line]
			if !ok {
				id = len(ids)
				ids[line] = id
				fmt.Fprintf(&defs, `<g id="%s">`, strconv.FormatInt(int64(id), 36))
				drawLine(&defs, line)
				defs.WriteString("</g>\n")
			}
			fmt.Fprintf(&strip, `<use href="#%s" y="%d"/>`, strconv.FormatInt(int64(id), 36), (i*rows+y+1)*rowHeight-5)
		}
		if f.x >= 0 {
			fmt.Fprintf(&strip, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#8b949e"/>`, float64(f.x)*cellWidth, (i*rows+f.y)*rowHeight+1, cellWidth, rowHeight-2)
		}
		strip.WriteByte('\n')
	}
	fmt.Fprintf(&b, "<defs>\n%s</defs>\n", &defs)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" rx="8" fill="#0d1117"/>`, width, height)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="14" r="5" fill="%s"/>`, margin+4+i*18, colour)
	}
	fmt.Fprintf(&b, "\n"+`<svg x="%d" y="%d" width="%.0f" height="%d" viewBox="0 0 %.0f %d"><g id="the-film">`+"\n", margin, barHeight, columns*cellWidth, rows*rowHeight, columns*cellWidth, rows*rowHeight)
	b.Write(strip.Bytes())
	b.WriteString("</g></svg>\n</svg>\n")
	return b.Bytes()
}

// style is how a piece of text looks.
type style struct {
	colour string
	bold   bool
	dim    bool
}

// drawLine draws one row: each piece of one style is stretched to its cells, so that
// columns are aligned in any font.
func drawLine(b *bytes.Buffer, line string) {
	var s style
	x := 0
	piece := func(text string) {
		cells := utf8.RuneCountInString(text)
		// Leading blanks are not drawn.
		trimmed := strings.TrimLeft(text, " ")
		at := x + cells - utf8.RuneCountInString(trimmed)
		trimmed = strings.TrimRight(trimmed, " ")
		x += cells
		if trimmed == "" {
			return
		}
		fmt.Fprintf(b, `<text x="%s" textLength="%s"`, number(float64(at)*cellWidth), number(float64(utf8.RuneCountInString(trimmed))*cellWidth))
		if s.colour != "" {
			fmt.Fprintf(b, ` style="fill:%s"`, s.colour)
		}
		switch {
		case s.bold:
			b.WriteString(` class="b"`)
		case s.dim:
			b.WriteString(` class="d"`)
		}
		b.WriteByte('>')
		if err := xml.EscapeText(b, []byte(trimmed)); err != nil {
			panic(err) // a buffer cannot fail
		}
		b.WriteString("</text>")
	}
	for line != "" {
		at := escapes.FindStringIndex(line)
		if at == nil {
			piece(line)
			return
		}
		if at[0] > 0 {
			piece(line[:at[0]])
		}
		if code := line[at[0]:at[1]]; strings.HasSuffix(code, "m") {
			s.change(strings.Split(code[2:len(code)-1], ";"))
		}
		line = line[at[1]:]
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 32) }

// palette are the sixteen colours of a dark terminal.
var palette = []string{
	"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc",
}

// change applies the codes of one escape sequence.
func (s *style) change(codes []string) {
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			n = 0 // an empty code is a reset
		}
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 39:
			s.colour = ""
		case n >= 30 && n <= 37:
			s.colour = palette[n-30]
		case n >= 90 && n <= 97:
			s.colour = palette[n-90+8]
		case n == 38 && i+2 < len(codes) && codes[i+1] == "5":
			c, _ := strconv.Atoi(codes[i+2]) // zero is a colour too
			s.colour = colour256(c)
			i += 2
		case n == 38 && i+4 < len(codes) && codes[i+1] == "2":
			s.colour = "rgb(" + strings.Join(codes[i+2:i+5], ",") + ")"
			i += 4
		}
	}
}

// colour256 is a colour of the larger table: the sixteen, a cube, greys.
func colour256(c int) string {
	switch {
	case c < 16:
		return palette[c]
	case c < 232:
		step := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		c -= 16
		return fmt.Sprintf("#%02x%02x%02x", step(c/36), step(c/6%6), step(c%6))
	default:
		grey := 8 + 10*(c-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
}
