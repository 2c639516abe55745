package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// RuleSettings gives all settings of all rules, in the order of rules, servers and groups.
func (db *DB) RuleSettings(ctx context.Context) ([]monolith.RuleSetting, error) {
	var rows []struct {
		Rule   string `db:"rule_id"`
		Server int64  `db:"server_id"`
		Group  string `db:"group_path"`
		Body   []byte `db:"body"`
	}
	err := db.r.SelectContext(ctx, &rows, "SELECT rule_id, server_id, group_path, body FROM rule_setting ORDER BY rule_id, server_id, group_path")
	if err != nil {
		return nil, db.failed("list settings of rules", err)
	}
	settings := make([]monolith.RuleSetting, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.Body, &settings[i]); err != nil {
			return nil, fmt.Errorf("store: setting of rule %q: %w", r.Rule, err)
		}
		settings[i].Rule, settings[i].RuleScope = r.Rule, monolith.RuleScope{Server: monolith.ServerID(r.Server), Group: r.Group}
	}
	return settings, nil
}

// PutRuleSettings writes settings in one transaction, each in the place of the one of its rule and scope. One that
// says nothing deletes it. A server or group that there is not gives [monolith.ErrNotFound].
func (db *DB) PutRuleSettings(ctx context.Context, settings []monolith.RuleSetting) error {
	for i := range settings {
		if err := checkSetting(&settings[i]); err != nil {
			return err
		}
	}
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		for i := range settings {
			s := &settings[i]
			if err := db.putRuleSetting(ctx, tx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (db *DB) putRuleSetting(ctx context.Context, tx *sqlx.Tx, s *monolith.RuleSetting) error {
	if s.Empty() {
		_, err := tx.ExecContext(ctx, "DELETE FROM rule_setting WHERE rule_id = ? AND server_id = ? AND group_path = ?", s.Rule, int64(s.Server), s.Group)
		return db.failed("delete a setting of a rule", err)
	}
	if err := db.scopeThere(ctx, tx, s.Server, s.Group); err != nil {
		return err
	}
	k := *s
	k.By, k.Runbook, k.At = cutText(s.By, maxWho), cutText(s.Runbook, maxLine), keptTime(s.At)
	body, err := json.Marshal(&k)
	if err != nil {
		return fmt.Errorf("store: setting of rule %q: %w", s.Rule, err)
	}
	_, err = tx.ExecContext(ctx, db.dialect.upsert("rule_setting", []string{"rule_id", "server_id", "group_path"}, []string{"body"}),
		s.Rule, int64(s.Server), s.Group, string(body))
	return db.failed("keep a setting of a rule", err)
}

func checkSetting(s *monolith.RuleSetting) error {
	if err := checkRuleID("rule", s.Rule); err != nil {
		return err
	}
	for level, limits := range s.Limits {
		for name, n := range limits {
			if math.IsNaN(n) || math.IsInf(n, 0) {
				return monolith.Invalid("limits."+level+"."+name, "this is not a number")
			}
		}
	}
	return checkScope(s.Server, s.Group)
}

func checkRuleID(field, id string) error {
	if id == "" || len(id) > maxWord {
		return monolith.Invalid(field, "the id of a rule has 1 to 128 characters")
	}
	return nil
}

// checkScope refuses what is for a server and for a group at once.
func checkScope(server monolith.ServerID, group string) error {
	if server != 0 && group != "" {
		return monolith.Invalid("group", "there are both a server and a group", "give one of them, or none for everything")
	}
	if group == "" {
		return nil
	}
	return checkPath("group", group)
}

// scopeThere refuses what is for a server or a group that there is not: nothing would ever remove it.
func (db *DB) scopeThere(ctx context.Context, tx *sqlx.Tx, id monolith.ServerID, group string) error {
	var there int
	if id != 0 {
		if err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM server WHERE id = ?", int64(id)); err != nil {
			return db.failed("look for a server", err)
		}
		if there == 0 {
			return notFound("server number %d", id)
		}
	}
	if group != "" {
		if err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM server_group WHERE path = ?", group); err != nil {
			return db.failed("look for a group", err)
		}
		if there == 0 {
			return notFound("group %q", group)
		}
	}
	return nil
}

type ownRuleRow struct {
	Rule    string `db:"rule_id"`
	Version int    `db:"version_no"`
	Source  string `db:"source"`
	By      string `db:"made_by"`
	Made    int64  `db:"made_ms"`
	Gone    bool   `db:"gone"`
}

func (r *ownRuleRow) rule() monolith.OwnRule {
	return monolith.OwnRule{ID: r.Rule, Source: r.Source, Version: r.Version, By: r.By, At: timeOf(r.Made)}
}

const ownRuleSelect = "SELECT o.rule_id AS rule_id, o.version_no AS version_no, o.source AS source, o.made_by AS made_by, o.made_ms AS made_ms, o.gone AS gone FROM own_rule o"

// OwnRules gives the rules that people made, as they are now, by id.
func (db *DB) OwnRules(ctx context.Context) ([]monolith.OwnRule, error) {
	return db.ownRules(ctx, ownRuleSelect+` WHERE o.gone = 0 AND o.version_no = (SELECT MAX(n.version_no) FROM own_rule n WHERE n.rule_id = o.rule_id)
		ORDER BY o.rule_id`)
}

// OwnRuleVersions gives every version of a user's rule, newest first. One without a source is its removal.
func (db *DB) OwnRuleVersions(ctx context.Context, id string) ([]monolith.OwnRule, error) {
	return db.ownRules(ctx, ownRuleSelect+" WHERE o.rule_id = ? ORDER BY o.version_no DESC LIMIT ?", id, maxAnswer)
}

func (db *DB) ownRules(ctx context.Context, query string, args ...any) ([]monolith.OwnRule, error) {
	var rows []ownRuleRow
	if err := db.r.SelectContext(ctx, &rows, query, args...); err != nil {
		return nil, db.failed("list people's rules", err)
	}
	rules := make([]monolith.OwnRule, len(rows))
	for i := range rows {
		rules[i] = rows[i].rule()
	}
	return rules, nil
}

// maxSource is how long the text of a rule or template may be.
const maxSource = 256 << 10

// PutOwnRule adds a rule or replaces the one with its id, as a new version. The text is kept to the byte, and must be
// whole UTF-8.
func (db *DB) PutOwnRule(ctx context.Context, r monolith.OwnRule) error {
	if err := checkRuleID("id", r.ID); err != nil {
		return err
	}
	if err := checkSource(r.Source); err != nil {
		return err
	}
	return db.inTx(ctx, func(tx *sqlx.Tx) error { return db.addRuleVersion(ctx, tx, r, false) })
}

func checkSource(source string) error {
	switch {
	case source == "":
		return monolith.Invalid("source", "the text is empty")
	case len(source) > maxSource:
		return monolith.Invalid("source", "the text is longer than 256 KiB")
	case cutText(source, len(source)) != source:
		return monolith.Invalid("source", "the text is not UTF-8")
	}
	return nil
}

func (db *DB) addRuleVersion(ctx context.Context, tx *sqlx.Tx, r monolith.OwnRule, gone bool) error {
	var last int
	if err := tx.GetContext(ctx, &last, "SELECT COALESCE(MAX(version_no), 0) FROM own_rule WHERE rule_id = ?", r.ID); err != nil {
		return db.failed("keep a rule", err)
	}
	if r.At.IsZero() {
		r.At = db.now()
	}
	_, err := tx.ExecContext(ctx, insertInto("own_rule", []string{"rule_id", "version_no", "source", "made_by", "made_ms", "gone"}),
		r.ID, last+1, r.Source, cutText(r.By, maxWho), r.At.UnixMilli(), gone)
	return db.failed("keep a rule", err)
}

// DeleteOwnRule removes a rule with its settings and silences; its versions stay. An unknown id gives [monolith.ErrNotFound].
func (db *DB) DeleteOwnRule(ctx context.Context, id string) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		var there int
		err := tx.GetContext(ctx, &there, `SELECT COUNT(*) FROM own_rule o WHERE o.rule_id = ? AND o.gone = 0
			AND o.version_no = (SELECT MAX(n.version_no) FROM own_rule n WHERE n.rule_id = o.rule_id)`, id)
		switch {
		case err != nil:
			return db.failed("delete a rule", err)
		case there == 0:
			return notFound("rule %q", id)
		}
		if err := db.addRuleVersion(ctx, tx, monolith.OwnRule{ID: id, At: time.Time{}}, true); err != nil {
			return err
		}
		for _, table := range []string{"rule_setting", "silence"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE rule_id = ?", id); err != nil {
				return db.failed("delete a rule", err)
			}
		}
		return nil
	})
}
