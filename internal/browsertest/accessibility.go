package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// named are the roles of the accessibility tree that say nothing without a name.
var named = []string{"button", "checkbox", "combobox", "dialog", "image", "img", "link", "listbox", "menuitem",
	"navigation", "option", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox"}

// Unnamed lists what a screen reader finds on the page and can not name: controls, links and pictures, by role and
// node. Pictures that are hidden from it do not count.
func (b *Browser) Unnamed() []string {
	b.tb.Helper()
	tree := run(b, "accessibility tree", axTree)
	var found []string
	for _, n := range tree.Nodes {
		if role := axText(n.Role); !n.Ignored && slices.Contains(named, role) && axText(n.Name) == "" {
			found = append(found, fmt.Sprintf("%s (node %d)", role, n.BackendDOMNodeID))
		}
	}
	return found
}

var axTree chromedp.Action[accessibility.GetFullAXTreeResult] = func(ctx context.Context, t *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
	return cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
}

// axText gives a value of the tree as text; "" when there is none.
func axText(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v.Value, &s) != nil {
		return ""
	}
	return s
}
