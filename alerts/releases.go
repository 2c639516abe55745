package alerts

import (
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"monolith"
)

//go:embed releases.yaml
var releasesYAML []byte

// releases is the table of support dates.
type releases struct {
	AsOf    string             `yaml:"asof"`
	MySQL   map[string]support `yaml:"mysql"`
	MariaDB map[string]support `yaml:"mariadb"`
}

// support is one release series. Exactly one of the fields is set.
type support struct {
	End     string `yaml:"end"`     // the last day
	Over    bool   `yaml:"over"`    // ended, the day is not known
	Current bool   `yaml:"current"` // goes on, no end was announced
}

var releaseTable = sync.OnceValue(func() *releases {
	var t releases
	if err := yaml.UnmarshalWithOptions(releasesYAML, &t, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("alerts: releases.yaml: %v", err)) // embedded: a test reads it
	}
	return &t
})

// Support gives the days until the server's release series gets no more fixes, negative after that, and the
// series in words, "MySQL 8.0". ok is false for a series that the table does not have, which is never taken
// for an old one, and for one whose end was not announced. Amazon Aurora has versions of its own: not ok.
func Support(id monolith.Identity, at time.Time) (days float64, series string, ok bool) {
	t := releaseTable()
	key := fmt.Sprintf("%d.%d", id.Version.Major, id.Version.Minor)
	var s support
	var known bool
	switch {
	case id.Version.IsZero() || id.Flavour == monolith.Aurora:
		return 0, "", false
	case id.Flavour.IsMariaDB():
		s, known = t.MariaDB[key]
		series = "MariaDB " + key
	case id.Flavour.IsMySQL():
		s, known = t.MySQL[key]
		series = "MySQL " + key
	}
	if !known || s.Current {
		return 0, series, false
	}
	last := s.End
	if s.Over {
		last = t.AsOf
	}
	end, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return 0, series, false
	}
	return end.Sub(at).Hours() / 24, series, true
}
