package poller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"monolith"
)

const (
	// probeTime bounds a whole connection test: somebody is waiting for it.
	probeTime  = 20 * time.Second
	probeLogin = 8 * time.Second
	// probeEach bounds each collector in it; what may take longer is not tried.
	probeEach = 5 * time.Second
)

// Test connects to a server as it would be watched and reports step by step; the failed step says what is
// wrong and how it is mended. It uses one connection of its own, which it closes, and ends after 20 seconds.
func (p *Poller) Test(ctx context.Context, server monolith.Server) monolith.TestReport {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, &timeoutError{"the connection test", probeTime})
	defer cancel()
	pr := &probe{p: p, server: &server}
	panicked := p.guard("connection test", func() { pr.run(ctx) })
	if panicked {
		pr.add(monolith.TestStep{Name: "login", Title: "Log in", Result: monolith.StepFailed, Text: errPanic.Error()})
	}
	return pr.report
}

// probe is a connection test while it runs.
type probe struct {
	p      *Poller
	server *monolith.Server
	report monolith.TestReport
}

func (pr *probe) add(s monolith.TestStep) { pr.report.Steps = append(pr.report.Steps, s) }

// skip adds the steps that can't be made since an earlier one failed.
func (pr *probe) skip(names ...string) {
	titles := map[string]string{"connect": "Connect", "tls": "Encrypt", "login": "Log in", "version": "Find out what it is"}
	for _, n := range names {
		pr.add(monolith.TestStep{Name: n, Title: titles[n], Result: monolith.StepSkipped})
	}
}

func (pr *probe) run(ctx context.Context) {
	if !pr.resolve(ctx) {
		pr.skip("connect", "tls", "login", "version")
		return
	}
	s := pr.connect(ctx)
	if s == nil {
		return
	}
	defer s.close()
	if pr.settle(ctx, s) {
		pr.collectors(ctx, s)
	}
}

// resolve looks the name up.
func (pr *probe) resolve(ctx context.Context) bool {
	step := monolith.TestStep{Name: "resolve", Title: "Resolve the name", Result: monolith.StepOK}
	e := pr.server.Endpoint
	if e.Socket != "" || net.ParseIP(strings.Split(e.Host, "%")[0]) != nil {
		step.Result, step.Text = monolith.StepSkipped, "no name is used"
		pr.add(step)
		return true
	}
	began := time.Now()
	lookup, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(lookup, e.Host)
	step.Took = time.Since(began)
	if err != nil {
		problem, _ := explain(&connectError{err: err, endpoint: e, dialed: &dialed{}}, scene{endpoint: e})
		step.Result, step.Text, step.Cure = monolith.StepFailed, problem.Text, problem.Cure
		pr.add(step)
		return false
	}
	step.Text = strings.Join(addresses[:min(len(addresses), 8)], ", ")
	pr.add(step)
	return true
}

// connect logs in, and tells by how far it came which of the three steps failed.
func (pr *probe) connect(ctx context.Context) *session {
	e := pr.server.Endpoint
	began := time.Now()
	pr.p.connects.Add(1)
	login, cancel := context.WithTimeoutCause(ctx, probeLogin, &timeoutError{"the login", probeLogin})
	defer cancel()
	s, err := logIn(login, e, openOptions{version: pr.p.cfg.Version, load: newQuietLoad(), counts: pr.p.counters()})
	took := time.Since(began)
	d := &dialed{}
	var failed *connectError
	if s != nil {
		d = s.dialed
	} else if errors.As(err, &failed) {
		d = failed.dialed
	}
	failedStep := func(name, title string) *session {
		problem, up := explain(err, scene{endpoint: e, now: time.Now()})
		pr.report.Up = up
		pr.add(monolith.TestStep{Name: name, Title: title, Result: monolith.StepFailed, Took: took,
			Text: problem.Text, Cure: problem.Cure, Code: problem.Code})
		return nil
	}
	if err != nil && d.conn == nil {
		failedStep("connect", "Connect")
		pr.skip("tls", "login", "version")
		return nil
	}
	pr.add(monolith.TestStep{Name: "connect", Title: "Connect", Result: monolith.StepOK, Text: e.Address(), Took: d.opened.Sub(began)})
	if _, _, wrong := explainTLS(orEmpty(failed), scene{now: time.Now()}); wrong {
		failedStep("tls", "Encrypt")
		pr.skip("login", "version")
		return nil
	}
	pr.report.TLS = d.describeTLS(e)
	encrypt := monolith.TestStep{Name: "tls", Title: "Encrypt", Result: monolith.StepOK, Text: pr.report.TLS}
	if d.tls == nil {
		encrypt.Result = monolith.StepSkipped
		if e.Socket == "" && e.TLS != "disabled" {
			encrypt.Result = monolith.StepWarn
			encrypt.Cure = "passwords are hashed on the way, but what is read can be seen; set up TLS on the server"
		}
	}
	if err != nil {
		pr.report.TLS = ""
		if d.tls != nil {
			pr.add(encrypt)
		} else {
			pr.skip("tls")
		}
		failedStep("login", "Log in")
		pr.skip("version")
		return nil
	}
	pr.report.Up = true
	pr.add(encrypt)
	pr.add(monolith.TestStep{Name: "login", Title: "Log in", Result: monolith.StepOK, Text: "as " + e.User, Took: took})
	return s
}

func orEmpty(e *connectError) *connectError {
	if e == nil {
		return &connectError{err: errors.New(""), dialed: &dialed{}}
	}
	return e
}

// settle finds out who answers.
func (pr *probe) settle(ctx context.Context, s *session) bool {
	step := monolith.TestStep{Name: "version", Title: "Find out what it is", Result: monolith.StepOK}
	began := time.Now()
	err := s.settle(ctx, openOptions{limit: statementLimit(probeEach), interval: time.Minute})
	step.Took = time.Since(began)
	if err != nil {
		problem, _ := explain(err, scene{endpoint: pr.server.Endpoint, now: time.Now()})
		step.Result, step.Text, step.Cure, step.Code = monolith.StepFailed, problem.Text, problem.Cure, problem.Code
		pr.add(step)
		return false
	}
	pr.report.Identity, pr.report.Account = s.identity, s.account
	step.Text = s.identity.String()
	if s.account != "" {
		step.Text += ", account " + s.account
	}
	switch gap := s.clockGap.Round(time.Second); {
	case gap > time.Second:
		step.Text += fmt.Sprintf(", its clock is %s ahead", gap)
	case gap < -time.Second:
		step.Text += fmt.Sprintf(", its clock is %s behind", -gap)
	}
	if isAnonymous(s.account, pr.server.Endpoint.User) {
		step.Result = monolith.StepWarn
		step.Cure = "the server does not know Monolith by its name: " + anonymousCure(pr.server.Endpoint.User, s.account)
	}
	if len(s.refused) > 0 {
		step.Result = monolith.StepWarn
		step.Cure = joinSentences(step.Cure, "the server refused what keeps Monolith harmless: "+strings.Join(s.refused, "; "))
	}
	pr.add(step)
	return true
}

// collectors runs each collector once.
func (pr *probe) collectors(ctx context.Context, s *session) {
	t := newTarget(pr.p, pr.server, planFor(pr.server, nil))
	t.poll.identity, t.poll.session, t.poll.load = s.identity, s, s.load
	deadline, _ := ctx.Deadline()
	run := &poll{t: t, server: pr.server, interval: time.Minute, deadline: deadline, limit: statementLimit(probeEach),
		snap: &monolith.Snapshot{Server: pr.server.ID, At: time.Now(), Taken: time.Now(), Run: 1, Identity: s.identity}}
	for _, c := range pr.p.collectors {
		step := monolith.TestStep{Name: c.Name, Title: c.Title, Result: monolith.StepSkipped}
		switch {
		case c.Host && (pr.server.Host == "" || pr.server.Host == "none"):
			continue
		case run.isOff(c):
			step.Text = "switched off"
		case s.ended != nil:
			step.Text = "the connection was lost"
		default:
			step = pr.collector(ctx, run, c, s)
		}
		pr.add(step)
	}
}

func (pr *probe) collector(ctx context.Context, run *poll, c *Collector, s *session) monolith.TestStep {
	step := monolith.TestStep{Name: c.Name, Title: c.Title, Result: monolith.StepOK}
	on := s
	if c.Host {
		on = nil
	}
	tried := *c
	if c.Check != nil {
		tried.Collect = c.Check
	}
	r := run.collect(ctx, &tried, on, probeEach)
	step.Took = r.took
	if r.absent != "" {
		step.Result, step.Text = monolith.StepSkipped, r.absent
		return step
	}
	problems := r.snap.Problems
	if r.err != nil {
		problem, _ := explain(r.err, run.scene(r.grant))
		problems, step.Result = []monolith.Problem{problem}, monolith.StepFailed
	} else if r.variables != nil {
		run.t.poll.variables = r.variables
	}
	for _, problem := range problems {
		if step.Result == monolith.StepOK {
			step.Result = monolith.StepWarn
		}
		step.Text, step.Cure = joinSentences(step.Text, problem.Text), joinSentences(step.Cure, problem.Cure)
		step.Code = max(step.Code, problem.Code)
		if grant := grantFor(problem, r.grant); needsGrant(problem) && grant != "" {
			step.Grant = addGrant(step.Grant, grant)
			if !slices.Contains(pr.report.Grants, grant) {
				pr.report.Grants = append(pr.report.Grants, grant)
			}
		}
	}
	if step.Text == "" && c.Check != nil {
		step.Text = "the account sees the tables; they are not measured here, since that may take long"
	}
	if c.Name == statusName && r.err == nil {
		pr.report.OK = true
	}
	return step
}

// grantFor gives the statement that mends a problem: its own, where it names one, or else what gives the collector its
// rights; "" where usual is, since then no account is known that could be granted anything.
func grantFor(p monolith.Problem, usual string) string {
	if usual != "" && strings.HasPrefix(p.Cure, "GRANT ") && strings.HasSuffix(p.Cure, ";") {
		return p.Cure
	}
	return usual
}

// addGrant puts a statement below others, each once.
func addGrant(statements, another string) string {
	switch {
	case statements == "":
		return another
	case slices.Contains(strings.Split(statements, "\n"), another):
		return statements
	}
	return statements + "\n" + another
}

// needsGrant reports whether a privilege mends a problem.
func needsGrant(p monolith.Problem) bool {
	return p.Kind == monolith.ProblemPrivilege || p.Kind == monolith.ProblemPartial && strings.HasPrefix(p.Cure, "GRANT ")
}
