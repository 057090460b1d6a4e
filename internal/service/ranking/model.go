package ranking

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	// modelNumber is the number that says which model is in use. Setting it is recorded, and tells all nodes.
	modelNumber runtimeswitch.Name = "ranked_feed.model"
	maxModels                      = 20
	maxBy                          = 100 // characters
	noModelYet                     = "no model is in use: posts are ranked by the weights"
	rowFeatures                    = int(modelFeatures) + 3
)

// ModelFeatures returns the names of the features with which models estimate, in their order. They are stored: a change of them, or of what one means, is another list of names.
func ModelFeatures() []string {
	names := make([]string, 0, rowFeatures)
	for i := range features[:modelFeatures] {
		names = append(names, features[i].name)
	}
	return append(names, "video", "images", "goods")
}

// rowOf returns what a model estimates with.
func rowOf(v *values, f *facts) []float64 {
	row := make([]float64, 0, rowFeatures)
	return append(append(row, v[:modelFeatures]...), truth(f.kind == rankingv1.PostKind_POST_KIND_VIDEO), truth(f.kind == rankingv1.PostKind_POST_KIND_IMAGES), truth(f.goods))
}

// activeModel is the model in use.
type activeModel struct {
	id uint64
	*clickmodel.Model
}

// estimate sets the estimates of a post.
func (m *activeModel) estimate(v *values, f *facts) {
	row := rowOf(v, f)
	v[click] = m.Click.Probability(row)
	if m.Conversion != nil && f.goods {
		v[conversion] = m.Conversion.Probability(row)
	}
}

// termsOf explains an estimate.
func termsOf(h *clickmodel.Head, row []float64) []*rankingv1.RankingModelTerm {
	list := []*rankingv1.RankingModelTerm{{LogOdds: h.Constant()}}
	for i, name := range ModelFeatures() {
		list = append(list, &rankingv1.RankingModelTerm{Feature: name, Value: row[i], LogOdds: h.Term(i, row[i])})
	}
	return list
}

// models knows the model in use.
type models struct {
	numbers Numbers
	cached  atomic.Pointer[cachedModel] // what it points to is never changed
}

// cachedModel is a stored model as it was read; without a model, why it cannot be used.
type cachedModel struct {
	id    uint64
	model *activeModel
	why   string
}

// active returns the model in use, or why there is none.
func (m *models) active(ctx context.Context, tx *sql.Tx) (*activeModel, string, error) {
	n := uint64(m.numbers.Number(modelNumber, 0))
	if n == 0 {
		return nil, noModelYet, nil
	}
	if c := m.cached.Load(); c != nil && c.id == n {
		return c.model, c.why, nil
	}
	c := &cachedModel{id: n}
	var file []byte
	err := tx.QueryRowContext(ctx, `SELECT file FROM ranking_models WHERE id = $1`, int64(n)).Scan(&file)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		c.why = fmt.Sprintf("model %d is in use, and not stored: posts are ranked by the weights", n)
	case err != nil:
		return nil, "", err
	default:
		decoded, err := clickmodel.Decode(file, ModelFeatures())
		if err != nil {
			c.why = fmt.Sprintf("model %d cannot be used: %v", n, errs.Of(err).Message)
		} else {
			c.model = &activeModel{n, decoded}
		}
	}
	m.cached.Store(c)
	return c.model, c.why, nil
}

// stored is a row of ranking_models.
type stored struct {
	id        uint64
	file      []byte
	createdMs int64
	by, why   string
}

func (s *stored) message() (*rankingv1.RankingModel, error) {
	out := &rankingv1.RankingModel{Id: s.id, CreatedMs: s.createdMs, By: s.by, Reason: s.why}
	m, err := clickmodel.Decode(s.file, ModelFeatures())
	if err != nil {
		return out, err
	}
	out.Examples, out.Clicks, out.NoConversion = uint32(m.Click.Examples), uint32(m.Click.Positives), m.NoConversion
	for i, name := range m.Features {
		w := &rankingv1.RankingModelWeight{Feature: name, Click: m.Click.Term(i, 1)}
		if m.Conversion != nil {
			w.Conversion = m.Conversion.Term(i, 1)
		}
		out.Weights = append(out.Weights, w)
	}
	out.Evaluation = evaluationMessage(&m.Evaluation)
	return out, nil
}

// evaluationMessage returns an evaluation as operators see it.
func evaluationMessage(e *clickmodel.Evaluation) *rankingv1.RankingEvaluation {
	quality := func(q *clickmodel.Quality) *rankingv1.RankingQuality {
		out := &rankingv1.RankingQuality{Auc: q.AUC, Ndcg: q.NDCG, Coverage: q.Coverage}
		for _, p := range q.ROC {
			out.Roc = append(out.Roc, &rankingv1.RankingRocPoint{FalsePositives: p.X, TruePositives: p.Y})
		}
		return out
	}
	calibration := func(list []clickmodel.CalibrationPoint) (out []*rankingv1.RankingCalibration) {
		for _, p := range list {
			out = append(out, &rankingv1.RankingCalibration{Estimated: p.Estimated, Observed: p.Observed, Examples: uint32(p.Examples)})
		}
		return out
	}
	out := &rankingv1.RankingEvaluation{Examples: uint32(e.Examples), Lists: uint32(e.Lists), Clicks: uint32(e.Clicks), Model: quality(&e.Model), Popularity: quality(&e.Popularity), Recency: quality(&e.Recency),
		CalibrationError: e.CalibrationError, LogLoss: e.LogLoss, BaseLogLoss: e.BaseLogLoss, Calibration: calibration(e.Calibration)}
	if c := e.Conversions; c != nil {
		out.ConversionCalibration, out.ConversionCalibrationError = calibration(c.Calibration), c.CalibrationError
	}
	return out
}

var (
	errModelBy     = badRanking(fmt.Sprintf("by is one line of 1 to %d characters%s, and does not contain %s", maxBy, message.TextRule, auditlog.SystemPrefix))
	errModelReason = badRanking(fmt.Sprintf("a reason has at most %d characters%s", message.MaxReason, message.TextRule))
	errNoModel     = errs.New(errs.NotFound, "no_model", "there is no such model; ListRankingModels gives those that are stored")
)

// PutRankingModel stores a model, and records that with it.
func (s *Service) PutRankingModel(ctx context.Context, r *rankingv1.PutRankingModelRequest) (*rankingv1.RankingModel, error) {
	switch {
	case r.By == "" || !message.IsText(r.By, maxBy, message.IsLine) || auditlog.ImitatesSystem(r.By):
		return nil, errModelBy
	case !message.IsReason(r.Reason):
		return nil, errModelReason
	}
	row := &stored{file: r.File, createdMs: s.nowMs(), by: r.By, why: r.Reason}
	out, err := row.message()
	if err != nil {
		return nil, err
	}
	changes, err := s.deps.Numbers.NumberChanges(ctx, string(modelNumber), 2)
	if err != nil {
		return nil, err
	}
	kept := [2]int64{} // in use, and before that
	for i, c := range changes {
		if c.Value != nil {
			kept[i] = *c.Value
		}
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, `INSERT INTO ranking_models (file, created_ms, made_by, reason) VALUES ($1, $2, $3, $4) RETURNING id`, r.File, row.createdMs, r.By, r.Reason).Scan(&out.Id); err != nil {
			return err
		}
		sum := sha256.Sum256(r.File)
		if err := s.deps.Audit.Record(ctx, tx, auditlog.Entry{Who: r.By, Action: "ranking.put_model", Subject: fmt.Sprint("model ", out.Id), After: "SHA-256 " + hex.EncodeToString(sum[:]), Reason: r.Reason}); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM ranking_models WHERE id <> $1 AND id <> $2 AND id <= (SELECT id FROM ranking_models WHERE id <> $1 AND id <> $2 ORDER BY id DESC LIMIT 1 OFFSET $3)`, kept[0], kept[1], maxModels)
		return err
	})
	return out, err
}

// ListRankingModels returns the stored models, and what ranks now.
func (s *Service) ListRankingModels(ctx context.Context) (*rankingv1.ListRankingModelsResponse, error) {
	out := &rankingv1.ListRankingModelsResponse{}
	var list []stored
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		m, fallback, err := s.models.active(ctx, tx)
		if err != nil {
			return err
		}
		if out.Fallback = fallback; m != nil {
			out.Active = m.id
		}
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM ranking_shown`).Scan(&out.Shown); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT id, file, created_ms, made_by, reason FROM ranking_models ORDER BY id DESC`)
		list, err = sqldb.Collect(rows, err, func(scan func(...any) error) (r stored, err error) {
			err = scan(&r.id, &r.file, &r.createdMs, &r.by, &r.why)
			return r, err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if out.Active == 0 && len(list) == 0 {
		out.Fallback += fmt.Sprintf("; a model needs %d posts that were seen, %d of them opened", clickmodel.MinExamples, clickmodel.MinClicks)
	}
	for i := range list {
		m, err := list[i].message()
		if err != nil { // of another version: it is in the list, without an evaluation
			m.Reason = errs.Of(err).Message
		}
		out.Models = append(out.Models, m)
	}
	changes, err := s.deps.Numbers.NumberChanges(ctx, string(modelNumber), weightChanges)
	for _, c := range changes {
		change := &rankingv1.RankingModelChange{By: c.By, Reason: c.Reason, TimeMs: c.TimeMs}
		if c.Value != nil {
			change.Model = uint64(*c.Value)
		}
		out.Changes = append(out.Changes, change)
	}
	return out, err
}

// ActivateRankingModel makes all nodes rank by a model, or by the weights.
func (s *Service) ActivateRankingModel(ctx context.Context, r *rankingv1.ActivateRankingModelRequest) (*rankingv1.ListRankingModelsResponse, error) {
	to := map[runtimeswitch.Name]*int64{modelNumber: nil}
	if r.Model != 0 {
		list, err := s.ListRankingModels(ctx)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list.Models, func(m *rankingv1.RankingModel) bool { return m.Id == r.Model })
		switch {
		case i < 0:
			return nil, errNoModel
		case list.Models[i].Evaluation == nil:
			return nil, errs.New(errs.Invalid, "bad_model", list.Models[i].Reason)
		}
		n := int64(r.Model)
		to[modelNumber] = &n
	}
	if err := s.deps.Numbers.SetNumbers(ctx, to, r.By, r.Reason); err != nil {
		return nil, err
	}
	return s.ListRankingModels(ctx)
}
