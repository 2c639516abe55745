package poller

import (
	"context"
	"strings"
	"time"

	"monolith"
)

const maxPlugins = 500

// pluginsCollector lists plugins and components.
func pluginsCollector() *Collector {
	return &Collector{
		Name:    "plugins",
		Title:   "Plugins and components",
		Help:    "Storage engines, ways to log in, checks of passwords and other plugins of the server, but for tables of information_schema.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 1, 5), mariadb: v(5, 1)}) {
				return false, "only MySQL from 5.1 on has plugins"
			}
			return true, ""
		},
		Grant: func(id monolith.Identity, account string) string {
			if !has(id, since{mysql: v(8)}) {
				return ""
			}
			return "GRANT SELECT ON mysql.* TO " + quoteAccount(account) + ";"
		},
		Collect: collectPlugins,
	}
}

func collectPlugins(ctx context.Context, g *Gather) error {
	list := []monolith.Plugin{}
	add := func(p monolith.Plugin) {
		if len(list) < maxPlugins {
			list = append(list, p)
		}
	}
	err := g.Session.Query(ctx, "SELECT PLUGIN_NAME AS name, PLUGIN_TYPE AS type, PLUGIN_STATUS AS status, PLUGIN_VERSION AS version"+
		" FROM information_schema.PLUGINS WHERE PLUGIN_TYPE <> 'INFORMATION SCHEMA' ORDER BY PLUGIN_NAME", func(row Row) error {
		text := func(name string) string { return cut(printable(first(row.Text(name))), 128) }
		p := monolith.Plugin{Name: text("name"), Type: strings.ToUpper(text("type")), Status: strings.ToUpper(text("status")), Version: text("version")}
		p.Validator = p.Status == "ACTIVE" && (p.Type == "VALIDATE PASSWORD" || p.Type == "PASSWORD VALIDATION") // MySQL's, MariaDB's
		add(p)
		return nil
	})
	if err != nil {
		return err
	}
	known := true
	if has(g.Identity, since{mysql: v(8)}) {
		err := g.Session.Query(ctx, "SELECT component_urn AS urn FROM mysql.component ORDER BY component_urn", func(row Row) error {
			name := cut(printable(strings.TrimPrefix(first(row.Text("urn")), "file://")), 128)
			add(monolith.Plugin{Name: name, Type: "COMPONENT", Status: "ACTIVE", Component: true, Validator: name == "component_validate_password"})
			return nil
		})
		known = err == nil
		if err := noteRefusal(g, err, "the server's components can't be read", g.grant()); err != nil {
			return err
		}
	}
	validators := uint64(0)
	for _, p := range list {
		if p.Validator {
			validators++
		}
	}
	rec := g.Recorder("server")
	rec.Number("plugins", "", monolith.Uint(uint64(len(list))))
	if known || validators > 0 { // what can't be seen is not missing
		rec.Number("password_validators", "", monolith.Uint(validators))
	}
	rec.Done()
	g.snapshot.Plugins = list
	return nil
}
