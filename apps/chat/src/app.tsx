import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { ChatController } from './chat/chat-controller.ts';
import { useConversations } from './chat/use-conversations.ts';
import { useDraft } from './chat/use-draft.ts';
import { useModels } from './chat/use-models.ts';
import { useOpenConversation } from './chat/use-open-conversation.ts';
import { ServerClient } from './server/server-client.ts';
import { Composer } from './view/composer.tsx';
import { Conversation } from './view/conversation.tsx';
import { KeyDialog } from './view/key-dialog.tsx';
import { SettingsPanel } from './view/settings-panel.tsx';
import { Sidebar } from './view/sidebar.tsx';
import { StatisticsPanel } from './view/statistics-panel.tsx';
import { TopBar } from './view/top-bar.tsx';
import { useStopKey } from './view/use-stop-key.ts';

type Panel = 'settings' | 'statistics' | undefined;

/** The whole page: conversations at the side, the open one in the middle, panels over them. */
export function App() {
  const [isKeyWanted, setIsKeyWanted] = useState(false);
  const [hasTriedKey, setHasTriedKey] = useState(false);
  const client = useMemo(() => new ServerClient({ keys: sessionStorage }), []);
  useEffect(() => {
    client.onKeyWanted = setIsKeyWanted;
  }, [client]);

  const conversations = useConversations(client);
  const { stored } = conversations;
  const controller = useMemo(() => new ChatController(client, stored), [client, stored]);
  const chat = useSyncExternalStore(
    useCallback((listener) => controller.subscribe(listener), [controller]),
    () => controller.state,
  );
  const models = useModels(client);
  const model = chat.model ?? models.preferred;
  const draft = useDraft(client, controller, model);
  const [panel, setPanel] = useState<Panel>();
  const [isSidebarOpen, setIsSidebarOpen] = useState(false);
  useOpenConversation(controller, conversations);
  useStopKey(controller);

  const begin = () => {
    setIsSidebarOpen(false);
    controller.begin({ ...chat, model });
    history.pushState(null, '', '#');
    document.querySelector<HTMLTextAreaElement>('#message')?.focus();
  };
  const chooseModel = (id: string) => {
    models.prefer(id);
    controller.change({ model: id });
    if (!chat.isAnswering) draft.warm(id);
    models.watch();
  };

  return (
    <div className="page" data-sidebar={isSidebarOpen ? 'open' : 'closed'}>
      <Sidebar
        conversations={conversations}
        openId={chat.id}
        isOpen={isSidebarOpen}
        onBegin={begin}
        onClose={() => setIsSidebarOpen(false)}
        onDeleted={(id) => id === chat.id && begin()}
      />
      <main className="main">
        <TopBar
          title={chat.title}
          models={models.models}
          model={model}
          onModel={chooseModel}
          onSidebar={() => setIsSidebarOpen(!isSidebarOpen)}
          onPanel={setPanel}
        />
        <Conversation chat={chat} controller={controller} />
        {chat.problem && (
          <p className="problem" role="alert">
            {chat.problem}
          </p>
        )}
        <Composer
          draft={draft}
          isAnswering={chat.isAnswering}
          onStop={() => controller.stop()}
          onSend={(text) => {
            draft.sent();
            models.watch();
            if (chat.model === undefined && model !== undefined) controller.change({ model });
            void controller.send(text);
          }}
        />
      </main>
      {panel === 'settings' && (
        <SettingsPanel
          chat={chat}
          onChange={(fields) => controller.change(fields)}
          onClose={() => setPanel(undefined)}
        />
      )}
      {panel === 'statistics' && <StatisticsPanel client={client} onClose={() => setPanel(undefined)} />}
      {isKeyWanted && (
        <KeyDialog
          wasRefused={hasTriedKey}
          onKey={(key) => {
            setHasTriedKey(true);
            client.useKey(key);
          }}
        />
      )}
    </div>
  );
}
