package scope

import "strings"

// file is a file extension that is not a page.
type file struct {
	dotted string // ".jpg"
	rule   string // description for people
	// program marks extensions that are often part of names: a page about node.js
	// is a page. They count only if the path looks like that of a program.
	program bool
}

// files is the table of extensions. Those that are also top-level domains or common last
// words of titles (.ai .app .com .io .net .ps) are left out unless they are far more often
// files, and so is text that may be meant for readers (.xml .json .txt .md).
var files = table(
	kind{"an image", "jpg jpeg jpe jfif png apng gif webp avif bmp tif tiff svg svgz ico heic heif jxl psd eps"},
	kind{"a font", "woff woff2 ttf otf eot"},
	kind{"a stylesheet", "css less scss"},
	kind{"a script", "js mjs cjs wasm map"},
	kind{"audio or video", "mp3 mp4 m4a m4v mkv avi mov wmv wma flv webm ogg oga ogv opus wav flac aac mpg mpeg mid midi 3gp m3u m3u8 swf"},
	kind{"an archive", "zip gz tgz bz2 tbz xz txz zst lz4 7z rar tar jar war whl gem"},
	kind{"an installer", "exe msi dmg iso img apk ipa deb rpm pkg cab bin crx xpi"},
	kind{"a document", "pdf doc docx dot dotx xls xlsx xlsm ppt pptx pps ppsx odt ods odp rtf epub mobi azw3 djvu csv tsv ics vcf"},
)

// kind is one row of the table.
type kind struct{ about, endings string }

func table(kinds ...kind) map[string]*file {
	all := map[string]*file{}
	for _, k := range kinds {
		for ending := range strings.FieldsSeq(k.endings) {
			all[ending] = &file{dotted: "." + ending, rule: "." + ending + " is " + k.about + "; use --files to include it", program: k.about == "a script"}
		}
	}
	return all
}

// maxEnding is the longest extension of the table.
const maxEnding = 5

// fileOf finds the extension of a path in the table, or nil.
func fileOf(path string) *file {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.IndexByte(name, ';'); i >= 0 {
		name = name[:i] // parameters of the segment
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || len(name)-dot-1 > maxEnding {
		return nil
	}
	var lower [maxEnding]byte
	ending := lower[:copy(lower[:], name[dot+1:])]
	for i, c := range ending {
		if 'A' <= c && c <= 'Z' {
			ending[i] = c + 'a' - 'A'
		}
	}
	f := files[string(ending)]
	if f == nil || isPageAboutFile(path) || f.program && !looksLikeProgram(path, name[:dot]) {
		return nil
	}
	return f
}

// isPageAboutFile reports whether a path is in a folder whose pages are named after files: wikis
// and source code browsers.
func isPageAboutFile(path string) bool {
	return strings.Contains(path, "/wiki/") || strings.Contains(path, "/blob/") || strings.Contains(path, "/blame/")
}

// looksLikeProgram reports whether a path is that of a program rather than a page about one: it
// has another dot in its name, as in app.min.js, or is in a typical program folder.
func looksLikeProgram(path, stem string) bool {
	if strings.Contains(stem, ".") {
		return true
	}
	for _, folder := range programFolders {
		if strings.Contains(path, folder) {
			return true
		}
	}
	return false
}

var programFolders = [...]string{
	"/js/", "/javascript/", "/script/", "/scripts/", "/static/", "/asset/", "/assets/", "/dist/", "/build/", "/bundles/",
	"/vendor/", "/lib/", "/plugins/", "/wp-content/", "/wp-includes/", "/node_modules/", "/cdn-cgi/", "/_next/", "/_nuxt/",
}
