package period

// The rules by which a search decides. Each is a bound drawn between programs that must be told apart: recordings, and the
// programs that the tests write with every kind of noise. Most may move by a fifth, or a count by one, without any of
// these coming out another way. Where one may not, a bracket names the recording or test that holds it there; where that
// is a matter of confidence alone, it says so.

// A percent compares counts exactly, without rounding.
type percent int

// of says that a part is at least so many percent of all.
func (p percent) of(part, all int) bool { return 100*part >= int(p)*all }

// exceeded says that a part is more than so many percent of all.
func (p percent) exceeded(part, all int) bool { return 100*part > int(p)*all }

// What the same words mean in all searches.
const (
	most      percent = 50 // [TestHelper]
	nearlyAll percent = 80 // a fifth may be damaged: stray operations, lost ones, an evaluation in between [window]

	inNearlyAll = 0.8 // the same as a share

	fewKernels = 4 // no more kernels than a counter, a loss scale or an average of the loss takes
)

// When iterations are given at all.
const (
	leastOps       = 4    // operations; with fewer nothing can recur
	minConfidence  = 0.35 // the least confidence with which iterations are given
	leastAgreement = 0.5  // of repetitions by one thread, where nothing but their likeness speaks for them
	leastRepeats   = 4    // of any run: three alike may be the layers of one pass
	sureSteps      = 4    // training steps that need no other search beside [graph_graph]
	replaysPerStep = 2    // graph replays must be so many times the eager steps that warm them up
)

// How training steps are believed.
const (
	unnamedMatch = 0.6 // of fewer than sureSteps, where no kernel has an optimizer's name
	twoSteps     = 0.6 // confidence is taken times this: they repeat a single time [confidence of oom, unet_realoom]
	threeSteps   = 0.8 // likewise; they repeat twice [confidence in TestTraining]

	vagueStart = 0.85 // likewise; the optimizer may go on into what is taken for the next step [master, from its second step on]
)

// How two stretches are compared.
const (
	maxCompared = 4096    // operations of a stretch: bounds the time for long ones
	maxSamples  = 64      // pairs of stretches: bounds the time for many
	maxContents = 1 << 16 // operations of a stretch that are asked for copies, optimizers and graphs

	nameWeight     = 0.75 // of names beside shapes: batches of other lengths have the same names and other shapes
	kindWeight     = 0.8  // of kinds beside names, where names differ [confidence of unet_grow, varlen]
	plainlySimilar = 0.8  // by names; below this kinds may tell better [confidence of unet_grow, window]

	leastKinds   = 5           // of kernels: fewer make no sequence of kinds that tells something
	kindRun      = 8           // of the runs by kind of long stretches: kinds are far fewer than names [confidence of unet_grow, varlen]
	longForKinds = 8 * kindRun // operations of a stretch
	withinRun    = 2           // operations of runs that one stretch has of another, in whatever order [both, ddp]

	alikeByShape = 0.6 // passes of one shape share more operations, a prefill and a decode step fewer
)

// runSizes is how long the runs are that stretches are compared by, by their operations. Long runs tell order and so
// noise from repetition; short stretches do not have many of them.
var runSizes = [...]struct{ operations, size int }{{16, 4}, {10, 3}, {5, 2}}

// How far two sequences go together.
const (
	resync                = 48  // operations that may differ in a row: a warm-up inserts fewer, a network has more
	furtherByKind percent = 150 // kinds go on so much further than names, or names are kept
	kindsThrough          = 3   // and through more than a third of the shorter sequence
)

// Which marks and levels are candidates.
const (
	leastMarks              = 4   // recurrences of a mark
	unevenGap       percent = 25  // distances between marks differ by more where they are not even [TestChanging]
	sameCountPart           = 50  // marks whose counts differ by a part in so many recur together
	closeCountPart          = 20  // of counts that differ by no more than a part in so many one is a candidate
	maxLevels               = 24  // candidates: bounds the time
	levelQuality            = 0.6 // of neighbouring stretches; noise of few names reaches less [ddp_onestep, onepass]
	levelCover              = 0.3 // of the thread's work; a program may set up and evaluate for longer than it repeats
	levelSpread     percent = 25  // of the extent that as many stretches of usual length fill; else marks come in clusters
	finerTimes              = 3   // a level is nested in one whose stretches are so many times as long
	fullStep                = 5   // kinds of kernels; a network's step has more, the loops of a solver or of a set-up fewer
	windowed                = 0.8 // of the runs before the first repetition, if there are any, that a repetition has too
	leastLayer              = 8   // operations; what repeats within a step and has fewer is no layer
	layerQuality            = 0.8 // of neighbouring layers, and of steps that come in turns
	mostInTurn              = 4   // steps that look alike only together
	evenly          percent = 95  // of the extent that single steps fill
	moreThanLayers          = 200 // marks: more than a network has layers
	leastCuts               = 3   // with two there is one stretch between
	maxWorkers              = 4   // threads in which repetitions are searched
	worker          percent = 10  // of the busiest thread's work
	graphKernels            = 20  // a graph launch stands for so many where amounts of work are compared
	singleBoundary  percent = 70  // of stretches with one boundary: swapped operations put it on either side of marks
	moreBoundaries  percent = 5   // than marks, or fewer, and two: at the ends of a program
	oneStepPart             = 20  // what leads and what trails make up one step up to a part in so many
	firstLikeSecond         = 0.1 // of the first step's runs: a prefill shares little with a decode step, set-up nothing
	wholeStep       percent = 90  // of the second step's operations that the first one has too
)

// Which stretches are iterations.
const (
	usualPart           = 10  // stretches of usual length differ by a part in so many, and two operations
	varyingSize percent = 10  // lengths differ by more where something within the stretches repeats
	longer      percent = 160 // and four operations; of the usual length: such a stretch holds something besides
	farLonger   percent = 400 // such a stretch is none, or two and more
	strangePair         = 4   // pairs of operations seen before that make up for one never seen
	mostLast            = 2   // steps that may follow the last mark
	mostStrange         = 8   // so much is strange that it is another part of the program
)

// Which stretches are a request.
const (
	leastRequests            = 2   // one prefill and its decode steps are a single repetition [TestInference]
	leastGroups              = 3   // of steps that begin alike: with two, the second may be another part of the program
	groupLikeness            = 0.5 // of what they begin with
	leastSteps               = 3   // of a request: with fewer, what seems to begin one may be another thing
	leastPasses              = 6   // prefills and decode steps
	leastSamePasses          = 3   // decode steps that are like their next
	passesPerPrefill         = 3   // with fewer decode steps than two a prefill, all may be batches
	prefillMargin            = 0.1 // prefills are so much more similar to each other than to decode steps
	prefillLikeness          = 0.4 // to each other, at the least: prompts have other lengths
	requestShift     percent = 25  // of a step: from where the host feeds to where the prefill begins
	answerPart               = 8   // the answer is copied within a step's part in so many, and two operations
)

// Which thread does what in training.
const (
	maxThreads           = 8    // that may launch a backward pass; bounds the time
	longWindow           = 3    // kernels in one pause: a helper launches fewer while the main thread goes on [TestHelper]
	leastLong            = 2    // such pauses
	leastBegun           = 2    // backward passes that follow a fill: one may be chance [ddp_onestep]
	leastInTurn          = 2    // a thread that follows another once does not take turns with it [ddp_onestep]
	asMuch       percent = 25   // as another backward thread, for one of several devices
	atOnce       percent = 90   // of a thread's work, done while another backward thread works
	sameWorkPart         = 0.85 // of all operations: two passes share fewer kernels, two workers more [TestWorkers]
)

// Where forward passes, optimizers and evaluations are.
const (
	leadInPart         percent = 25   // of a stretch: copies to the device that come later are the next batch's
	shortTurnPart              = 8    // the turn that shows the forward pass is longer than one in so many
	sureMatch                  = 8    // operations in common with the first turn that are no chance
	patternTimes               = 3    // fewer are none either, if they are more than a third
	tailPart           percent = 75   // the tail is an optimizer alone if so much of it, but not of the turn, is in common
	littleMatch        percent = 25   // less in common, and the turn is another model's
	sameModel          percent = 75   // of a later turn that one of the same model has
	nextTurns                  = 8    // models that may be trained in turn
	maxTries                   = 4096 // comparisons with later turns: bounds the time for programs that only seem to train
	passRemains                = 0.5  // runs that the beginning of a forward pass has in common with a whole one
	patternHead                = 3    // operations by which its beginning is known
	clearlyMore        percent = 150  // and two kernels; before a forward pass an optimizer does so much more than a micro-batch
	singleTurns        percent = 30   // at most so many steps of one turn where most have several micro-batches
	equalTurns         percent = 60   // steps that have equally many
	evaluationPart             = 4    // an evaluation has more kernels than a part in so many of a forward pass's operations
	evaluationLikeness         = 0.2  // of its runs, in common with a forward pass in training: other kernels may run
	headlessPart       percent = 75   // of the second step, where the recording begins in a forward pass [TestTraining]
	neighboursMatch            = 0.7  // then steps do not take turns
	cycleMatch                 = 0.8  // of steps a cycle apart
	cycleMargin                = 0.2  // by which they match better than neighbours
	maxCycle                   = 8    // steps
)

// Where phases of a step begin.
const (
	leastForward         = 3  // operations of a forward pass: a loss, a factor on it and the fill
	minorStream  percent = 25 // of the busiest stream's work: less does not carry the passes
	farLater             = 3  // the pause after a factor that ends a forward pass is so many times the one before
)
