// Package content extracts what a page says: its main text as plain text and as Markdown,
// and facts about it.
//
// A [Reader] follows package parse, which decodes a body to UTF-8 and reads its tags once,
// without a tree; [Extract] reads a page alone. The block elements and the pieces of text in
// them are recorded. The records point into the page; they are rated together at the end,
// and only what is kept is decoded.
//
// # Main text
//
// Paragraphs give points to the elements around them: more for longer ones and for commas,
// none for navigation. The element with the most points holds the main text, together with
// neighbours and surroundings that have text of the same kind. Elements such as nav and
// footer, and classes and ids with words such as "related", "share" or "comments", mark
// what is left out. The title, the byline and captions are not part of the main text;
// title and captions are in the Markdown.
//
// # Hidden text
//
// Text that a reader cannot see is left out: the hidden attribute, template, closed
// dialogs, noscript, and inline styles or rules of the page's own style elements that hide
// it: display, visibility, opacity, no size, a place off the screen, a clip, the colour of
// the background. Of rules, those count whose selector is a tag, classes and an id, and
// that apply to every screen; the usual order of precedence is followed. A style element
// in the body applies to the text before it, too. aria-hidden hides nothing. A rule that
// hides the whole page is ignored, because scripts that show it later are common.
//
// Style sheets in other files are not read, and no scripts run: text that only they hide
// is in the result.
//
// # Guarantees
//
// The same page always gives the same result. Time is linear in the length of the page,
// memory is bounded by named constants, and Page.Cut reports that one was reached. Nothing
// returned points into the page.
package content
