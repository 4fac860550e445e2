// Package extract reads chosen fields from HTML pages by rules.
//
// A rule gives a field a name and says where its value is: an element by CSS selector or
// XPath, a property of the page's JSON-LD, a meta element, or what a regular expression
// matches. It can convert the value to a type and apply to some URLs only. Rules are read
// from YAML by [Read]; an invalid file is refused with the line and what to do.
//
// It comes after parse, which decodes a body to UTF-8. A document tree is built only for
// pages that a CSS or XPath rule applies to; the other kinds read the tags.
//
// Everything has a bound. The time for a page is bounded in steps, not by a clock, so that
// the same page always gives the same fields. What is cut, invalid or too expensive is
// reported with the field.
package extract

// The limits of a rules file.
const (
	MaxFile  = 64 << 10 // bytes
	MaxRules = 200      // fields
	maxName  = 64       // bytes of a field's name
	maxWhen  = 20       // URL patterns of a field
	maxExpr  = 1 << 10  // bytes of a selector, path or expression
	maxProg  = 1000     // instructions of a compiled regular expression
	maxParts = 16       // parts of a CSS selector, selectors of a list, and parts of a JSON-LD path
)

// The limits of one page. A larger page has no values of rules that need a tree; the
// problem of the field says so.
const (
	MaxPage   = 4 << 20    // bytes of HTML
	MaxNodes  = 200_000    // nodes of a tree
	MaxSteps  = 20_000_000 // steps of all rules together: seconds at worst
	MaxTrees  = 8          // trees at a time, in the whole process
	MaxValues = 1000       // values of a field
	MaxValue  = 64 << 10   // bytes of a value
	MaxFields = 1 << 20    // bytes of all fields and problems, as JSON

	maxTries   = 16                            // empty values before the first that is not
	maxProblem = 200                           // bytes of a sentence about a field
	maxBlocks  = 100                           // scripts with JSON-LD
	maxBlock   = 1 << 20                       // bytes of one of them
	maxMetas   = 1000                          // meta elements
	maxMeta    = 64 << 10                      // bytes of the content of one
	maxNesting = 64                            // levels of JSON-LD
	reserved   = 2*maxName + 2*maxProblem + 64 // bytes of a field and its problem in JSON, without values
)
