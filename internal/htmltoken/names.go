package htmltoken

// packed is the end of a name, at most eight bytes in lower case, as a number with the
// last byte lowest. Comparing numbers makes checking every tag cheap.
type packed uint64

// pack returns a name as a number.
func pack(name []byte) packed {
	var p packed
	for _, c := range name {
		p = p<<8 | packed(fold[c])
	}
	return p
}

const (
	tableBits = 9
	// tableFactor spreads the known names over the table.
	tableFactor = 0x9e3779b97f4a7c15
)

// nameTable finds the number of a known name by one or two comparisons.
type nameTable [1 << tableBits]struct {
	name   packed
	full   string
	number uint8 // 0 for an empty place
}

func (p packed) place() int { return int(uint64(p) * tableFactor >> (64 - tableBits)) }

// newTable returns a table of names by their numbers.
func newTable(names []string) *nameTable {
	t := new(nameTable)
	for number, name := range names {
		if name == "" {
			continue
		}
		p := pack([]byte(name))
		i := p.place()
		for t[i].number != 0 {
			i = (i + 1) % len(t)
		}
		t[i].name, t[i].full, t[i].number = p, name, uint8(number)
	}
	return t
}

// find returns the number of a name, 0 if it is not known.
func (t *nameTable) find(name []byte, p packed) uint8 {
	for i := p.place(); ; i = (i + 1) % len(t) {
		switch e := &t[i]; {
		case e.number == 0:
			return 0
		case e.name == p && len(e.full) == len(name) && (len(name) <= 8 || EqualName(name, e.full)):
			return e.number
		}
	}
}

var (
	tagTable  = newTable(tagNames[:])
	attrTable = newTable(attrNames[:])
)
