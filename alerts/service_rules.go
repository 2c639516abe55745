package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"monolith"
)

// Rules gives all rules, the built-in ones in the order of the catalogue, then people's own by id.
func (s *Service) Rules() []monolith.RuleInfo {
	cat := s.engine.Catalogue()
	out := make([]monolith.RuleInfo, 0, len(cat.rules)+1)
	for _, r := range cat.rules {
		if !r.own {
			out = append(out, r.info)
		}
	}
	out = append(out, networkInfo())
	for _, r := range cat.rules {
		if r.own {
			out = append(out, r.info)
		}
	}
	return out
}

// networkInfo describes the alert of the monitor itself, which is no rule of the language.
func networkInfo() monolith.RuleInfo {
	return monolith.RuleInfo{
		ID: RuleNetwork, Title: networkTitle, Category: "availability", Each: "fleet", Every: "poll",
		About: "When at least half of all servers, and three, go out of reach within two minutes, it is more likely that Monolith itself lost its network. " +
			"One alert is told then, and those of the single servers are not.",
		When: []monolith.RuleCondition{{If: "gone >= greatest(3, servers / 2)", Level: "critical", Clear: "when fewer than half are gone"}},
		Let:  []monolith.RuleQuantity{{Name: "gone", Is: "servers that went out of reach within two minutes", Unit: "servers"}},
		Says: "Most servers went out of reach within two minutes.",
	}
}

// Statuses says what every rule says about a server now, every instance by itself, in the order of Rules. nil: nothing was
// evaluated yet.
func (s *Service) Statuses(server monolith.ServerID) []monolith.RuleStatus {
	out := s.engine.States(server)
	cat := s.engine.Catalogue()
	place := func(id string) int {
		if r := cat.byID[id]; r != nil {
			return r.index
		}
		return len(cat.rules)
	}
	slices.SortStableFunc(out, func(a, b monolith.RuleStatus) int { return place(a.Rule) - place(b.Rule) })
	s.number(out)
	return out
}

// RuleStatuses says what one rule says about all servers.
func (s *Service) RuleStatuses(rule string) []monolith.RuleStatus {
	s.mu.Lock()
	ids := make([]monolith.ServerID, 0, len(s.servers))
	for id := range s.servers {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	slices.Sort(ids)
	out := []monolith.RuleStatus{}
	for _, id := range ids {
		out = append(out, s.engine.Status(id, rule)...)
	}
	s.number(out)
	return out
}

// RuleStatus says what one rule says about one server, with its numbers.
func (s *Service) RuleStatus(server monolith.ServerID, rule string) []monolith.RuleStatus {
	out := s.engine.Status(server, rule)
	s.number(out)
	return out
}

// number puts in the open alerts' ids.
func (s *Service) number(list []monolith.RuleStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		if a := s.open[list[i].AlertKey]; a != nil {
			list[i].Alert = a.ID
		}
	}
}

// EffectiveRule says what is in force of a rule for a server, and where it comes from.
func (s *Service) EffectiveRule(server monolith.ServerID, rule string) (monolith.EffectiveRule, error) {
	r := s.engine.Catalogue().Rule(rule)
	if r == nil {
		return monolith.EffectiveRule{}, fmt.Errorf("alerts: rule %s: %w", quoted(rule), monolith.ErrNotFound)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	group := ""
	if srv := s.servers[server]; srv != nil {
		group = srv.Group
	}
	return newSettings(s.settings).effective(r, server, group).describe(r), nil
}

// RuleSettings gives what people changed of rules.
func (s *Service) RuleSettings(ctx context.Context) ([]monolith.RuleSetting, error) {
	return s.cfg.Store.RuleSettings(ctx)
}

// PutRuleSettings checks and keeps settings, and puts them in force from each server's next poll on.
func (s *Service) PutRuleSettings(ctx context.Context, settings []monolith.RuleSetting) error {
	if err := s.changing.take(ctx); err != nil {
		return err
	}
	defer s.changing.give()
	cat := s.engine.Catalogue()
	s.mu.Lock()
	all := slices.Clone(s.settings)
	groups, names := map[monolith.ServerID]string{}, map[monolith.ServerID]string{}
	for id, srv := range s.servers {
		groups[id], names[id] = srv.Group, srv.Name
	}
	s.mu.Unlock()
	for i := range settings {
		set := &settings[i]
		if set.Server != 0 && set.Group != "" {
			return monolith.Invalid("group", "a setting is for a server, for a group, or for all")
		}
		if err := cat.CheckSetting(set, all, groups[set.Server]); err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(o monolith.RuleSetting) bool { return o.Rule == set.Rule && o.RuleScope == set.RuleScope })
		all = append(all, *set)
	}
	// A wider setting must not contradict what nearer places set.
	merged := newSettings(all)
	for i := range settings {
		r := cat.Rule(settings[i].Rule)
		for _, id := range slices.Sorted(maps.Keys(groups)) {
			if !covers(&settings[i], id, groups[id]) {
				continue
			}
			var inv *monolith.InvalidError
			if err := merged.contradiction(r, id, groups[id]); errors.As(err, &inv) {
				return monolith.Invalid("limits", fmt.Sprintf("with what is set for %s: %s", quoted(names[id]), inv.Reason), inv.Cure)
			}
		}
	}
	if err := s.cfg.Store.PutRuleSettings(ctx, settings); err != nil {
		return err
	}
	return s.reloadSettings(ctx)
}

// CopyRuleSettings gives servers all settings of rules that a server has of its own, in the place of theirs.
func (s *Service) CopyRuleSettings(ctx context.Context, from monolith.ServerID, to []monolith.ServerID, by string) error {
	all, err := s.cfg.Store.RuleSettings(ctx)
	if err != nil {
		return err
	}
	now := s.now()
	var change []monolith.RuleSetting
	for _, target := range to {
		if target == from {
			continue
		}
		kept := map[string]bool{}
		for _, set := range all {
			if set.Server == from {
				kept[set.Rule] = true
				set.Server, set.By, set.At = target, by, now
				change = append(change, set)
			}
		}
		for _, set := range all {
			if set.Server == target && !kept[set.Rule] {
				change = append(change, monolith.RuleSetting{Rule: set.Rule, RuleScope: set.RuleScope, By: by, At: now})
			}
		}
	}
	if len(change) == 0 {
		return nil
	}
	return s.PutRuleSettings(ctx, change)
}

func (s *Service) reloadSettings(ctx context.Context) error {
	list, err := s.cfg.Store.RuleSettings(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.settings = list
	s.mu.Unlock()
	s.engine.SetSettings(list)
	return nil
}

// OwnRules gives the rules that people made.
func (s *Service) OwnRules(ctx context.Context) ([]monolith.OwnRule, error) {
	return s.cfg.Store.OwnRules(ctx)
}

// CheckOwnRule reads a rule without keeping it.
func (s *Service) CheckOwnRule(source string) (monolith.RuleInfo, error) {
	r, err := s.checkOwn(source)
	if err != nil {
		return monolith.RuleInfo{}, err
	}
	return r.info, nil
}

func (s *Service) checkOwn(source string) (*Rule, error) {
	r, cat, err := s.builtin.Check(source, s.cfg.Known)
	if err != nil {
		return nil, asInvalid(err)
	}
	if r.id == RuleNetwork {
		return nil, monolith.Invalid("id", fmt.Sprintf("%q is the id of another rule", r.id), uniqueIDs)
	}
	for _, res := range RunTests(cat, r) {
		if res.Err != nil {
			return nil, monolith.Invalid("tests", fmt.Sprintf("the rule's own test %s fails: %v", quoted(res.Name), res.Err))
		}
	}
	return r, nil
}

// asInvalid gives a mistake in a rule's text as one of a form's field.
func asInvalid(err error) error {
	var load *LoadError
	if !errors.As(err, &load) {
		return err
	}
	out := &monolith.InvalidError{Field: load.Field, Reason: load.Reason, Cure: load.Cure}
	if out.Field == "" {
		out.Field = "source"
	}
	if load.Line > 0 {
		out.Reason = fmt.Sprintf("line %d: %s", load.Line, load.Reason)
	}
	return out
}

// PutOwnRule adds a rule, or replaces the one with its id.
func (s *Service) PutOwnRule(ctx context.Context, source, by string) (monolith.RuleInfo, error) {
	r, err := s.checkOwn(source)
	if err != nil {
		if isTaken(err) {
			return monolith.RuleInfo{}, fmt.Errorf("alerts: a built-in rule has this id: %w", monolith.ErrConflict)
		}
		return monolith.RuleInfo{}, err
	}
	if err := s.changing.take(ctx); err != nil {
		return monolith.RuleInfo{}, err
	}
	defer s.changing.give()
	if err := s.cfg.Store.PutOwnRule(ctx, monolith.OwnRule{ID: r.id, Source: source, By: by, At: s.now()}); err != nil {
		return monolith.RuleInfo{}, err
	}
	return r.info, s.reloadRules(ctx)
}

// isTaken reports whether an error of checkOwn says that a built-in rule has the id.
func isTaken(err error) bool {
	var inv *monolith.InvalidError
	return errors.As(err, &inv) && inv.Field == "id" && inv.Cure == uniqueIDs
}

// DeleteOwnRule removes a user's rule; its open alerts close at the next poll of their servers.
func (s *Service) DeleteOwnRule(ctx context.Context, id string) error {
	if err := s.changing.take(ctx); err != nil {
		return err
	}
	defer s.changing.give()
	if err := s.cfg.Store.DeleteOwnRule(ctx, id); err != nil {
		return err
	}
	return s.reloadRules(ctx)
}

func (s *Service) reloadRules(ctx context.Context) error {
	own, err := s.cfg.Store.OwnRules(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = own
	s.longRead = map[monolith.ServerID]time.Time{} // other rules may read other windows
	s.putRules()
	return nil
}
